-- rows_in_parts | in: released | out: rows_in_parts | grain: one row per combination and at most a number of its records | params: most, part
-- Numbers the rows of a release in their order, so that they can be written by several hands: part by part, in each by place.
-- A combination of many records is cut, so that no hand has to write all of them.
SELECT
    c.* EXCLUDE (first_copy, place),
    row_number() OVER w AS place,
    CAST((sum(c.n) OVER w - 1) // param('part') AS INTEGER) AS part
FROM (
    SELECT
        r.* REPLACE (least(r.n - k.first_copy, param('most')) AS n),
        k.first_copy
    FROM released AS r
    CROSS JOIN unnest(range(0, r.n, param('most'))) AS k (first_copy)
) AS c
WINDOW w AS (ORDER BY c.place ASC, c.first_copy ASC ROWS UNBOUNDED PRECEDING);
