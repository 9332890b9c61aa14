-- classes_in_population | in: atoms, population_atoms | out: classes_in_population | grain: one row per class of the table or the population | params: qi VARCHAR[], population_qi VARCHAR[], outside VARCHAR[]
-- Each class of the table with the records that the population has in it, and the classes of the population that the
-- table lacks, called by a number below 0. What lies outside of all labels of the release is in none of its classes.
-- Both sides are stacked and grouped rather than joined, so that NULL meets NULL.
WITH stacked_records AS (
    SELECT
        COLUMNS(getvariable('qi')),
        FALSE AS is_outside,
        a.atom,
        NULL AS population_atom,
        a.records AS class_records,
        0 AS population_records
    FROM atoms AS a
    UNION ALL
    SELECT
        COLUMNS(getvariable('population_qi')),
        COLUMNS(getvariable('outside')) AS is_outside,
        NULL AS atom,
        p.atom AS population_atom,
        0 AS class_records,
        p.records AS population_records
    FROM population_atoms AS p
),
keyed_classes AS (
    SELECT
        COLUMNS(getvariable('qi')),
        r.is_outside,
        coalesce(min(r.atom), -1 - min(r.population_atom)) AS class,
        CAST(sum(r.class_records) AS BIGINT) AS class_records,
        CAST(sum(r.population_records) AS BIGINT) AS population_records
    FROM stacked_records AS r
    GROUP BY ALL
)
SELECT
    k.class,
    k.class_records,
    k.population_records
FROM keyed_classes AS k;
