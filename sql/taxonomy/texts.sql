-- texts | in: value_counts | out: texts | grain: one row per value, in order | params: -
-- The values of a column as texts; NULL is none.
SELECT
    CAST(v.value AS VARCHAR) AS text
FROM value_counts AS v
WHERE v.value IS NOT NULL
ORDER BY CAST(v.value AS VARCHAR);
