-- class_summary | in: classes | out: class_summary | grain: one row | params: small INTEGER
-- How many equivalence classes there are and how large, and how many records stand in the smallest ones.
SELECT
    CAST(sum(c.class_records) AS HUGEINT) AS records,
    count(*) AS classes,
    min(c.class_records) AS smallest,
    CAST(median(c.class_records) AS DOUBLE) AS median,
    sum(c.class_records) / count(*) AS mean,
    max(c.class_records) AS largest,
    count(*) FILTER (c.class_records = 1) AS alone,
    CAST(coalesce(sum(c.class_records) FILTER (c.class_records < param('small')), 0) AS HUGEINT) AS in_small
FROM classes AS c;
