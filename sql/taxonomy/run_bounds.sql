-- run_bounds | in: quantiles | out: run_bounds | grain: one row per run of values, in order | params: -
-- The texts of a run's smallest and largest value, and of the largest value of the run before.
SELECT
    CAST(q.lower AS VARCHAR) AS lower,
    CAST(q.upper AS VARCHAR) AS upper,
    CAST(lag(q.upper) OVER (ORDER BY q.lower) AS VARCHAR) AS upper_before
FROM quantiles AS q
ORDER BY q.lower;
