-- extremes | in: column_values | out: extremes | grain: one row | params: bottom VARCHAR, top VARCHAR
-- The texts of the smallest and the largest finite number above a lower tail and below an upper one, NULL where there is
-- none, and how many values there are in all. NULL stands for no tail.
SELECT
    CAST(min(v.value) FILTER (v.is_between) AS VARCHAR) AS least,
    CAST(max(v.value) FILTER (v.is_between) AS VARCHAR) AS greatest,
    count(v.value) AS counted
FROM (
    SELECT
        c.value,
        isfinite(CAST(c.value AS DOUBLE))
        AND ($bottom IS NULL OR c.value > cast_to_type($bottom, c.value))
        AND ($top IS NULL OR c.value < cast_to_type($top, c.value)) AS is_between
    FROM column_values AS c
) AS v;
