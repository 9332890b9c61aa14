-- extremes | in: column_values | out: extremes | grain: one row | params: -
-- The texts of the smallest and the largest finite number; NULL where there is none.
SELECT
    CAST(min(v.value) AS VARCHAR) AS least,
    CAST(max(v.value) AS VARCHAR) AS greatest
FROM column_values AS v
WHERE isfinite(CAST(v.value AS DOUBLE));
