-- k_anonymity | in: classes | out: k_anonymity | grain: one row per class | params: requirement INTEGER, k INTEGER
-- Size of each class; it violates below k. NULL quasi-identifiers form classes of their own.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648.
SELECT
    param('requirement') AS requirement,
    1 AS position,
    c.class,
    c.class_records,
    CAST(c.class_records AS DOUBLE) AS reached,
    c.class_records < param('k') AS violates
FROM classes AS c;
