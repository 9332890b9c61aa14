-- first_leaves | in: records | out: first_leaves | grain: one row per record | params: -
-- Puts all records into one leaf, the class of the most general state.
SELECT CAST(0 AS UTINYINT) AS leaf
FROM records AS r;
