-- categories | in: source | out: categories | grain: one row per category | params: attribute COLUMNS, most INTEGER
-- The values of a column of categories as text, in their order.
SELECT
    c.category
FROM (
    SELECT DISTINCT CAST(COLUMNS(getvariable('attribute')) AS VARCHAR) AS category
    FROM source
) AS c
WHERE c.category IS NOT NULL
ORDER BY c.category ASC
LIMIT param('most');
