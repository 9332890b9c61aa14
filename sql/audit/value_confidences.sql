-- value_confidences | in: cells | out: value_confidences | grain: one row per sensitive value | params: most INTEGER
-- Of each sensitive value the highest confidence over the classes, and the records in classes where everybody has
-- it; the surest values, at most so many. NULL is a value.
-- Source: Wang, Fung, Yu 2005, Definition 3.1.
SELECT
    CAST(c.value AS VARCHAR) AS value,
    CAST(sum(c.records) AS HUGEINT) AS records,
    sum(c.records) / any_value(w.records) AS share,
    max(c.records / c.class_records) AS confidence,
    CAST(coalesce(sum(c.records) FILTER (c.records = c.class_records), 0) AS HUGEINT) AS certain,
    any_value(w."values") AS "values"
FROM cells AS c
CROSS JOIN (
    SELECT
        sum(x.records) AS records,
        count(DISTINCT x.value) + max(CASE WHEN x.value IS NULL THEN 1 ELSE 0 END) AS "values"
    FROM cells AS x
) AS w
GROUP BY c.value
ORDER BY confidence DESC, records DESC, c.value ASC
LIMIT param('most');
