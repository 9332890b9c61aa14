-- moments | in: released | out: moments | grain: one row | params: value VARCHAR
-- The finite numbers of a column: how many, their mean and their standard deviation; 0 where there are none.
-- Deviations are taken from the mean: of large numbers that lie close together they would be lost in rounding.
WITH finite AS (
    SELECT
        n.number
    FROM (
        SELECT
            CAST(COLUMNS(getvariable('value')) AS DOUBLE) AS number
        FROM released AS r
    ) AS n
    WHERE isfinite(n.number)
),
middle AS (
    SELECT
        favg(f.number) AS mean
    FROM finite AS f
)
SELECT
    count(f.number) AS numbers,
    coalesce(any_value(m.mean), 0) AS mean,
    coalesce(stddev_pop(f.number - m.mean), 0) AS deviation
FROM finite AS f
CROSS JOIN middle AS m;
