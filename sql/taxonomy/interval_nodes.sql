-- interval_nodes | in: dictionary | out: interval_nodes | grain: one row per code | params: lowers VARCHAR[], uppers VARCHAR[], closed BOOLEAN[], nodes INTEGER[]
-- The leaf interval that holds each value, -1 where none does; the intervals do not overlap (interval_faults). A bound
-- that is NULL leaves its side open, at most one of each side.
WITH leaf_bounds AS (
    SELECT
        w.node,
        w.closed,
        w.lower IS NULL AS open_below,
        w.upper IS NULL AS open_above,
        TRY(cast_to_type(w.lower, t.value)) AS lower,
        TRY(cast_to_type(w.upper, t.value)) AS upper
    FROM (
        SELECT
            unnest(CAST($lowers AS VARCHAR[])) AS lower,
            unnest(CAST($uppers AS VARCHAR[])) AS upper,
            unnest(CAST($closed AS BOOLEAN[])) AS closed,
            unnest(CAST($nodes AS INTEGER[])) AS node
    ) AS w
    LEFT JOIN dictionary AS t
        ON FALSE
)
SELECT
    d.code,
    CASE
        WHEN b.open_above OR d.value < b.upper OR (b.closed AND d.value = b.upper) THEN b.node
        ELSE coalesce(o.node, -1)
    END AS node
FROM dictionary AS d
ASOF LEFT JOIN (
    SELECT *
    FROM leaf_bounds
    WHERE NOT open_below
) AS b
    ON d.value >= b.lower
LEFT JOIN leaf_bounds AS o
    ON o.open_below
    AND (d.value < o.upper OR (o.closed AND d.value = o.upper));
