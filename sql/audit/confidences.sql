-- confidences | in: cells, protected_values | out: confidences | grain: one row per requirement, position and class | params: -
-- Confidence of each inference: records of the group with the value over records of the group; it
-- violates strictly above the limit, compared as whole numbers. NULL matches NULL.
-- Source: Wang, Fung, Yu 2005, Definition 3.1.
SELECT
    p.requirement,
    p.position,
    c.class,
    c.class_records,
    c.records / nullif(c.class_records, 0) AS reached,
    CAST(c.records AS HUGEINT) * p.denominator
    > CAST(c.class_records AS HUGEINT) * p.numerator AS violates
FROM cells AS c
INNER JOIN protected_values AS p
    ON c.value IS NOT DISTINCT FROM p.value;
