-- tree_kinds | in: leaves | out: tree_kinds | grain: one row per attribute | params: -
-- Which columns have a tree of intervals.
SELECT
    l.attribute,
    bool_or(l.lower IS NOT NULL OR l.upper IS NOT NULL OR l.closed IS NOT NULL) AS has_intervals
FROM leaves AS l
GROUP BY l.attribute;
