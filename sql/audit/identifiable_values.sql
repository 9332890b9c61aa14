-- identifiable_values | in: cells | out: identifiable_values | grain: one row per value | params: most INTEGER
-- As identifiable_records, for each confidential value; the values with the most identifiable records, at most so many.
SELECT
    CAST(c.value AS VARCHAR) AS value,
    count(*) FILTER (c.class_records = 1) AS "unique",
    count(*) FILTER (c.class_records > 1 AND c.records = c.class_records) AS groups,
    CAST(coalesce(sum(c.records) FILTER (c.class_records > 1 AND c.records = c.class_records), 0) AS BIGINT)
        AS grouped,
    CAST(coalesce(sum(c.records) FILTER (c.records < c.class_records), 0) AS BIGINT) AS others
FROM cells AS c
GROUP BY c.value
ORDER BY coalesce(sum(c.records) FILTER (c.records = c.class_records), 0) DESC, c.value ASC
LIMIT param('most');
