-- classes | in: source | out: classes | grain: one row per class | params: class COLUMNS, most INTEGER
-- The classes as text, in the order of the column's values.
SELECT
    CAST(s.value AS VARCHAR) AS class
FROM (
    SELECT DISTINCT COLUMNS(getvariable('class')) AS value
    FROM source
) AS s
WHERE s.value IS NOT NULL
ORDER BY s.value ASC
LIMIT param('most');
