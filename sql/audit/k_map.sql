-- k_map | in: classes_in_population | out: k_map | grain: one row per class of the table | params: requirement INTEGER, k INTEGER
-- Records of the population in each class of the table, 0 where it has none; it violates below k.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648.
SELECT
    param('requirement') AS requirement,
    1 AS position,
    c.class,
    c.class_records,
    CAST(c.population_records AS DOUBLE) AS reached,
    c.population_records < param('k') AS violates
FROM classes_in_population AS c
WHERE c.class_records > 0;
