-- presence | in: classes | out: presence | grain: one row per class of the table or the population | params: low_numerator HUGEINT, low_denominator HUGEINT, high_numerator HUGEINT, high_denominator HUGEINT
-- Which share of the population's records in a class the table holds: 0 where it holds none of them, infinite where
-- the population lacks a class of the table. It violates below the lower limit and above the upper one.
-- Source: Nergiz, Atzori, Clifton 2007, definition 3, doi:10.1145/1247480.1247554.
SELECT
    c.class,
    c.class_records,
    CASE
        WHEN c.population_records = 0 THEN CAST('Infinity' AS DOUBLE)
        ELSE c.class_records / c.population_records
    END AS reached,
    CAST(c.class_records AS HUGEINT) * param('low_denominator')
    < CAST(c.population_records AS HUGEINT) * param('low_numerator')
    OR CAST(c.class_records AS HUGEINT) * param('high_denominator')
    > CAST(c.population_records AS HUGEINT) * param('high_numerator') AS violates
FROM classes AS c;
