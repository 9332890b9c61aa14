-- population_classes | in: classes, atoms, classes_of_population, atoms_of_population | out: population_classes | grain: one row per class | params: qi VARCHAR[], population_qi VARCHAR[]
-- Each class of the table with the records, or persons, that the population has in it (0 where it has none).
-- Both sides are stacked and grouped rather than joined, so that NULL meets NULL.
WITH stacked_classes AS (
    SELECT
        COLUMNS(getvariable('qi')),
        k.class_records,
        0 AS population_records
    FROM classes AS k
    INNER JOIN atoms AS a
        ON k.class = a.atom
    UNION ALL
    SELECT
        COLUMNS(getvariable('population_qi')),
        0 AS class_records,
        k.class_records AS population_records
    FROM classes_of_population AS k
    INNER JOIN atoms_of_population AS a
        ON k.class = a.atom
),
keyed_classes AS (
    SELECT
        COLUMNS(getvariable('qi')),
        CAST(sum(s.class_records) AS BIGINT) AS class_records,
        CAST(sum(s.population_records) AS BIGINT) AS population_records
    FROM stacked_classes AS s
    GROUP BY ALL
)
SELECT
    k.class_records,
    k.population_records
FROM keyed_classes AS k
WHERE k.class_records > 0;
