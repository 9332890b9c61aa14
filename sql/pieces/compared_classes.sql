-- compared_classes | in: - | out: compared_classes | grain: one row per class | params: -
-- The classes with a list of their sensitive values, each with the records, or persons, that have it in the class, those
-- that have it in the table, and the table's; beside them the number of values in the table.
CREATE OR REPLACE TEMP MACRO compared_classes(tbl, qi, qi_name, sensitive, sensitive_name, person) AS TABLE
WITH cells AS MATERIALIZED (
    SELECT *
    FROM counted_cells(tbl, qi, qi_name, sensitive, sensitive_name, person)
)
SELECT
    COLUMNS('(?s)^q_.*'),
    CAST(sum(c.first_of_class) AS HUGEINT) AS class_records,
    list({'records': c.records, 'value_records': t.value_records, 'table_records': t.table_records}) AS "values",
    min(t.table_values) AS table_values
FROM cells AS c
INNER JOIN (
    SELECT
        v.value,
        sum(v.first_of_value) AS value_records,
        sum(sum(v.first_of_table)) OVER () AS table_records,
        count(*) OVER () AS table_values
    FROM cells AS v
    GROUP BY v.value
) AS t
    ON c.value IS NOT DISTINCT FROM t.value
GROUP BY ALL;
