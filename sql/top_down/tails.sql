-- tails | in: dictionary | out: tails | grain: one row | params: bottom VARCHAR, top VARCHAR
-- Whether the bounds of tails are values of the column's type, in order, their texts, how many values are in the lower
-- tail, and how many are below the upper one. NULL stands for no tail. 90.4 is not a value of an INTEGER: the type would
-- round it to 90, and 90 into a tail that was not asked for.
WITH typed_bounds AS (
    SELECT
        TRY(cast_to_type($bottom, t.value)) AS bottom,
        TRY(cast_to_type($top, t.value)) AS top
    FROM (SELECT 1 AS one)
    LEFT JOIN dictionary AS t
        ON FALSE
)
SELECT
    coalesce(
        min(b.bottom IS NOT NULL = ($bottom IS NOT NULL))
        AND min(b.top IS NOT NULL = ($top IS NOT NULL))
        AND coalesce(min(b.bottom) < min(b.top), TRUE)
        AND coalesce(min(TRY_CAST(CAST(b.bottom AS VARCHAR) AS FLOAT) = TRY_CAST($bottom AS FLOAT)), TRUE)
        AND coalesce(min(TRY_CAST(CAST(b.top AS VARCHAR) AS FLOAT) = TRY_CAST($top AS FLOAT)), TRUE),
        FALSE
    ) AS usable,
    CAST(min(b.bottom) AS VARCHAR) AS bottom,
    CAST(min(b.top) AS VARCHAR) AS top,
    count(*) FILTER (d.value <= b.bottom) AS above_bottom,
    count(*) FILTER (d.value < b.top) AS from_top
FROM typed_bounds AS b
LEFT JOIN dictionary AS d
    ON d.value IS NOT NULL;
