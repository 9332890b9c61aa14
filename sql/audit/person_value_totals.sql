-- person_value_totals | in: atoms | out: person_value_totals | grain: one row per sensitive value | params: sensitive VARCHAR[]
-- As value_totals, but persons are counted: those with each value, in table_values the sum of these, and in
-- table_records those of the table, who may have several values each.
WITH counted_values AS (
    SELECT
        COLUMNS(getvariable('sensitive')) AS value,
        CAST(count(DISTINCT a.person) AS HUGEINT) AS value_records
    FROM atoms AS a
    GROUP BY ALL
),
counted_persons AS (
    SELECT
        CAST(count(DISTINCT a.person) AS HUGEINT) AS table_records
    FROM atoms AS a
)
SELECT
    c.value,
    c.value_records,
    sum(c.value_records) OVER () AS table_values,
    p.table_records
FROM counted_values AS c
CROSS JOIN counted_persons AS p;
