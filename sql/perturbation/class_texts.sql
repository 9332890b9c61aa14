-- class_texts | in: class_codes | out: class_texts | grain: one row per class | params: -
-- The classes as text, in order.
SELECT
    CAST(c.class AS VARCHAR) AS class
FROM class_codes AS c
ORDER BY c.class_code ASC;
