-- identifiable_records | in: cells | out: identifiable_records | grain: one row | params: -
-- Records that are alone with their class, classes of several with one value, and all others: of the first two the
-- class gives the value away. NULL is a value.
-- Source: Li, Sarkar 2004, Definition 2.
SELECT
    count(*) FILTER (c.class_records = 1) AS "unique",
    count(*) FILTER (c.class_records > 1 AND c.records = c.class_records) AS groups,
    CAST(coalesce(sum(c.records) FILTER (c.class_records > 1 AND c.records = c.class_records), 0) AS BIGINT)
        AS grouped,
    count(DISTINCT c.class) FILTER (c.records < c.class_records) AS other_classes,
    CAST(coalesce(sum(c.records) FILTER (c.records < c.class_records), 0) AS BIGINT) AS others,
    count(DISTINCT c.value) + max(CASE WHEN c.value IS NULL THEN 1 ELSE 0 END) AS "values"
FROM cells AS c;
