-- disclosure | in: - | out: ppdm_disclosure | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_disclosure('policies', ['Gender'], 'Amount')
-- How much more or less frequent a sensitive value is in a class than in the table, at most, in powers of 2.
-- Source: Brickell, Shmatikov 2008, doi:10.1145/1401890.1401904.
CREATE OR REPLACE MACRO ppdm_disclosure(tbl, qi, sensitive, person := NULL) AS TABLE
WITH cells AS MATERIALIZED (
    SELECT *
    FROM counted_cells(tbl, qi, 'qi', sensitive, 'sensitive', person)
),
classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        CAST(sum(c.first_of_class) AS HUGEINT) AS class_records,
        list({'records': c.records, 'value_records': t.value_records, 'table_records': t.table_records}) AS "values"
    FROM cells AS c
    INNER JOIN (
        SELECT
            v.value,
            sum(v.first_of_value) AS value_records,
            sum(sum(v.first_of_table)) OVER () AS table_records
        FROM cells AS v
        GROUP BY v.value
    ) AS t
        ON c.value IS NOT DISTINCT FROM t.value
    GROUP BY ALL
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(class_records AS BIGINT) AS records,
    CASE
        WHEN len("values") < (
            SELECT count(*)
            FROM (SELECT DISTINCT value FROM cells)
        ) THEN CAST('Infinity' AS DOUBLE)
        ELSE list_max(list_transform("values", lambda v: abs(log2(
            CAST(v.records * v.table_records AS DOUBLE) / CAST(v.value_records * class_records AS DOUBLE)
        ))))
    END AS delta
FROM classes;
