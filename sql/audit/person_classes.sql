-- person_classes | in: atoms | out: person_classes | grain: one row per class | params: qi VARCHAR[]
-- As classes, but class_records counts different persons: who has several records in a class is there once.
WITH keyed_classes AS (
    SELECT
        COLUMNS(getvariable('qi')),
        min(a.atom) AS class,
        count(DISTINCT a.person) AS class_records
    FROM atoms AS a
    GROUP BY ALL
)
SELECT
    k.class,
    k.class_records,
    k.class_records AS population_records
FROM keyed_classes AS k;
