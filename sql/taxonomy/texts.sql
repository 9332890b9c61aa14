-- texts | in: value_counts | out: texts | grain: one row per value, in order | params: -
-- The values of a column as texts.
SELECT
    CAST(v.value AS VARCHAR) AS text
FROM value_counts AS v
ORDER BY CAST(v.value AS VARCHAR);
