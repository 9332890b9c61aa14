-- classes | in: atoms | out: classes | grain: one row per class | params: qi VARCHAR[]
-- Equivalence classes of the quasi-identifier; NULL is a value of its own and forms classes. A
-- class is called by one of its atoms. Until a population is joined, the table is its own.
WITH keyed_classes AS (
    SELECT
        COLUMNS(getvariable('qi')),
        min(a.atom) AS class,
        CAST(sum(a.records) AS BIGINT) AS class_records
    FROM atoms AS a
    GROUP BY ALL
)
SELECT
    k.class,
    k.class_records,
    k.class_records AS population_records
FROM keyed_classes AS k;
