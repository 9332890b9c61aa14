-- k_anonymity | in: classes | out: k_anonymity | grain: one row per class of the table | params: k INTEGER
-- Records with the labels of each class, of the population where one is joined, 0 where it has none; it violates below k.
-- NULL quasi-identifiers form classes of their own.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648 (k-anonymity, k-map).
SELECT
    c.class,
    c.class_records,
    CAST(c.population_records AS DOUBLE) AS reached,
    c.population_records < param('k') AS violates
FROM classes AS c
WHERE c.class_records > 0;
