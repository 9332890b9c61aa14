-- value_confidences | in: cells, value_totals | out: value_confidences | grain: one row per sensitive value | params: most INTEGER
-- Of each sensitive value the highest confidence over the classes, and the records in classes where everybody has
-- it; the surest values, at most so many. NULL is a value.
-- Source: Wang, Fung, Yu 2005, Definition 3.1.
WITH value_cells AS (
    SELECT
        c.value,
        max(c.records / c.class_records) AS confidence,
        coalesce(sum(c.records) FILTER (c.records = c.class_records), 0) AS certain,
        count(*) OVER () AS "values"
    FROM cells AS c
    GROUP BY c.value
)
SELECT
    CAST(c.value AS VARCHAR) AS value,
    CAST(v.value_records AS HUGEINT) AS records,
    v.value_records / v.table_records AS share,
    c.confidence,
    CAST(c.certain AS HUGEINT) AS certain,
    c."values"
FROM value_cells AS c
INNER JOIN value_totals AS v
    ON c.value IS NOT DISTINCT FROM v.value
ORDER BY confidence DESC, records DESC, value ASC
LIMIT param('most');
