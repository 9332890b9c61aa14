-- kind_counts | in: candidates | out: kind_counts | grain: one row per kind | params: -
-- Records by kind: their true category, plus the number of categories for members of groups.
SELECT c.kind, count(*) AS records
FROM candidates AS c
GROUP BY c.kind;
