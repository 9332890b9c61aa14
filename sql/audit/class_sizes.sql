-- class_sizes | in: classes | out: class_sizes | grain: one row per class_size | params: -
-- How many classes there are of each size, and how many records are in them.
SELECT
    c.class_records AS class_size,
    count(*) AS classes,
    CAST(sum(c.class_records) AS BIGINT) AS records
FROM classes AS c
GROUP BY c.class_records
ORDER BY c.class_records;
