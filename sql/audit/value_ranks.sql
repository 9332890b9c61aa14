-- value_ranks | in: value_totals | out: value_ranks | grain: one row per sensitive value | params: -
-- The different values of the table in order, NULL last, each with the records up to it, and with
-- the sum of those numbers up to it: what the ordered distance needs of the whole table.
WITH ranked_totals AS (
    SELECT
        t.value,
        row_number() OVER (ORDER BY t.value NULLS LAST) AS value_rank,
        sum(t.value_records) OVER (
            ORDER BY t.value NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS records_up_to
    FROM value_totals AS t
)
SELECT
    r.value,
    r.value_rank,
    r.records_up_to,
    sum(r.records_up_to) OVER (
        ORDER BY r.value_rank
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS sum_up_to,
    max(r.value_rank) OVER () AS last_rank,
    max(r.records_up_to) OVER () AS table_records,
    sum(r.records_up_to) OVER () AS table_sum
FROM ranked_totals AS r;
