-- identifiable_totals | in: identifiable | out: identifiable_totals | grain: one row per category | params: -
-- By confidential value: records that are uniquely identifiable, groups that are collectively so, and their records.
SELECT
    i.category,
    count(*) FILTER (i.records = 1) AS "unique",
    count(*) FILTER (i.records > 1) AS groups,
    coalesce(CAST(sum(i.records) FILTER (i.records > 1) AS BIGINT), 0) AS grouped
FROM identifiable AS i
GROUP BY i.category
ORDER BY i.category;
