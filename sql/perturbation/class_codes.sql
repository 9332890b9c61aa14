-- class_codes | in: histogram | out: class_codes | grain: one row per class | params: -
-- The classes in order, numbered from 0; NULL is one, and the last.
SELECT
    row_number() OVER (ORDER BY c.class NULLS LAST) - 1 AS class_code,
    c.class
FROM (
    SELECT DISTINCT h.class
    FROM histogram AS h
) AS c;
