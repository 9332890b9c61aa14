-- identifiable_records | in: cells | out: identifiable_records | grain: one row | params: -
-- Records that are alone with their class, classes of several that all have one value, and all others: of the first
-- two the class gives the value away. NULL is a value.
-- Source: Li, Sarkar 2004, Definition 2.
WITH judged_classes AS (
    SELECT
        min(c.class_records) AS class_records,
        max(c.records) AS most_records
    FROM cells AS c
    GROUP BY c.class
),
different_values AS (
    SELECT
        count(DISTINCT c.value) + max(CASE WHEN c.value IS NULL THEN 1 ELSE 0 END) AS "values"
    FROM cells AS c
)
SELECT
    count(*) FILTER (j.class_records = 1) AS "unique",
    count(*) FILTER (j.class_records > 1 AND j.most_records = j.class_records) AS groups,
    CAST(
        coalesce(
            sum(j.class_records) FILTER (j.class_records > 1 AND j.most_records = j.class_records),
            0
        ) AS BIGINT
    ) AS grouped,
    count(*) FILTER (j.most_records < j.class_records) AS other_classes,
    CAST(coalesce(sum(j.class_records) FILTER (j.most_records < j.class_records), 0) AS BIGINT) AS others,
    any_value(d."values") AS "values"
FROM judged_classes AS j
CROSS JOIN different_values AS d;
