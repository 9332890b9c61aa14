-- quantiles | in: value_counts | out: quantiles | grain: one row per run of values | params: intervals
-- Runs of values with about equal numbers of records; equal values are never split. A value that fills a run of
-- its own stands alone, and the others share the runs that are left.
WITH sized_values AS (
    SELECT
        v.value,
        v.records,
        v.records * param('intervals') >= sum(v.records) OVER () AS is_heavy
    FROM value_counts AS v
),
running_values AS (
    SELECT
        z.value,
        z.is_heavy,
        sum(CAST(z.is_heavy AS INTEGER)) OVER (
            ORDER BY z.value
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS heavy_so_far,
        sum(z.records) OVER (PARTITION BY z.is_heavy ORDER BY z.value) - z.records AS records_before,
        sum(z.records) OVER (PARTITION BY z.is_heavy) AS records,
        greatest(param('intervals') - sum(CAST(z.is_heavy AS INTEGER)) OVER (), 1) AS runs
    FROM sized_values AS z
)
SELECT
    min(r.value) AS lower,
    max(r.value) AS upper
FROM running_values AS r
GROUP BY
    r.heavy_so_far,
    r.is_heavy,
    CASE WHEN NOT r.is_heavy THEN r.records_before * r.runs // r.records END;
