-- classes | in: listed | out: classes | grain: one row per value | params: -
-- The classes as text, in the order of the column's values, with the records of each.
SELECT
    CAST(v.value AS VARCHAR) AS class,
    v.records
FROM listed AS v
ORDER BY v.value ASC;
