-- value_totals | in: atoms | out: value_totals | grain: one row per sensitive value | params: sensitive VARCHAR[]
-- How many records of the table have each sensitive value, NULL being one; table_values is their sum, and so is
-- table_records.
WITH counted_values AS (
    SELECT
        COLUMNS(getvariable('sensitive')) AS value,
        sum(a.records) AS value_records
    FROM atoms AS a
    GROUP BY ALL
)
SELECT
    c.value,
    c.value_records,
    sum(c.value_records) OVER () AS table_values,
    sum(c.value_records) OVER () AS table_records,
    count(*) OVER () AS different_values
FROM counted_values AS c;
