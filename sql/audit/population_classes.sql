-- population_classes | in: atoms, population_atoms | out: population_classes | grain: one row per class | params: qi VARCHAR[], population_qi VARCHAR[]
-- Each class of the table with the records that the population has in it (0 where it has none).
-- Both sides are stacked and grouped rather than joined, so that NULL meets NULL.
WITH stacked_records AS (
    SELECT
        COLUMNS(getvariable('qi')),
        a.records AS class_records,
        0 AS population_records
    FROM atoms AS a
    UNION ALL
    SELECT
        COLUMNS(getvariable('population_qi')),
        0 AS class_records,
        p.records AS population_records
    FROM population_atoms AS p
),
keyed_classes AS (
    SELECT
        COLUMNS(getvariable('qi')),
        CAST(sum(r.class_records) AS BIGINT) AS class_records,
        CAST(sum(r.population_records) AS BIGINT) AS population_records
    FROM stacked_records AS r
    GROUP BY ALL
)
SELECT
    k.class_records,
    k.population_records
FROM keyed_classes AS k
WHERE k.class_records > 0;
