-- value_counts | in: side | out: value_counts | grain: one row per value | params: value COLUMNS, most INTEGER
-- The most frequent values as text, with how many values there are in all and the records of those not listed.
WITH counted_values AS (
    SELECT
        CAST(COLUMNS(getvariable('value')) AS VARCHAR) AS value,
        CAST(sum(s.records) AS BIGINT) AS records
    FROM side AS s
    GROUP BY ALL
)
SELECT
    c.value,
    c.records,
    count(*) OVER () AS different_values,
    CAST(sum(c.records) OVER () AS BIGINT) AS all_records
FROM counted_values AS c
ORDER BY c.records DESC, c.value ASC
LIMIT param('most');
