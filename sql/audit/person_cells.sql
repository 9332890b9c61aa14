-- person_cells | in: atoms | out: person_cells | grain: one row per class and value | params: qi VARCHAR[], sensitive VARCHAR[]
-- As cells, but records and class_records count different persons. Who has several values in a class is one of each,
-- so class_values, their sum, may be more than the persons of the class.
WITH classed_atoms AS (
    SELECT
        min(a.atom) OVER (PARTITION BY COLUMNS(getvariable('qi'))) AS class,
        COLUMNS(getvariable('sensitive')) AS value,
        a.person
    FROM atoms AS a
),
class_persons AS (
    SELECT
        a.class,
        count(DISTINCT a.person) AS class_records
    FROM classed_atoms AS a
    GROUP BY a.class
),
value_persons AS (
    SELECT
        a.class,
        a.value,
        count(DISTINCT a.person) AS records
    FROM classed_atoms AS a
    GROUP BY a.class, a.value
)
SELECT
    v.class,
    c.class_records,
    v.value,
    v.records,
    CAST(sum(v.records) OVER (PARTITION BY v.class) AS BIGINT) AS class_values
FROM value_persons AS v
INNER JOIN class_persons AS c
    ON v.class = c.class;
