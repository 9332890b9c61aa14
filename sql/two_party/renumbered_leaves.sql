-- renumbered_leaves | in: leaves | out: renumbered_leaves | grain: one row per record | params: -
-- Numbers the leaves anew, from 1 on, so that they can be split further; the records keep their order.
SELECT n.number AS leaf
FROM (
    SELECT
        l.leaf,
        row_number() OVER () AS place
    FROM leaves AS l
) AS r
JOIN (
    SELECT
        l.leaf,
        row_number() OVER (ORDER BY l.leaf) AS number
    FROM leaves AS l
    GROUP BY l.leaf
) AS n
    ON n.leaf = r.leaf
ORDER BY r.place;
