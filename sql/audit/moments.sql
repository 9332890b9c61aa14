-- moments | in: released | out: moments | grain: one row | params: value VARCHAR
-- The finite numbers of a column: how many, their mean and their standard deviation; 0 where there are none.
SELECT
    count(n.number) AS numbers,
    coalesce(favg(n.number), 0) AS mean,
    coalesce(stddev_pop(n.number), 0) AS deviation
FROM (
    SELECT
        CAST(COLUMNS(getvariable('value')) AS DOUBLE) AS number
    FROM released AS r
) AS n
WHERE isfinite(n.number);
