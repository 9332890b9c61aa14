-- class_texts | in: class_codes | out: class_texts | grain: one row per class | params: most INTEGER
-- The first classes as text, in order, and how many there are.
SELECT
    CAST(c.class AS VARCHAR) AS class,
    count(*) OVER () AS classes
FROM class_codes AS c
ORDER BY c.class_code ASC
LIMIT param('most');
