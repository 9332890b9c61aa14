-- intersection | in: composed | out: intersection | grain: one row | params: labels VARCHAR[]
-- Classes of records that are alike in all these labels, NULL being one: records, or persons where there are any.
WITH classes AS (
    SELECT
        row(*COLUMNS(getvariable('labels'))) AS class,
        count(DISTINCT c.person) + coalesce(sum(c.weight) FILTER (c.person IS NULL), 0) AS records
    FROM composed AS c
    GROUP BY ALL
)
SELECT
    CAST(coalesce(sum(k.records), 0) AS BIGINT) AS records,
    count(*) AS classes,
    CAST(coalesce(min(k.records), 0) AS BIGINT) AS smallest
FROM classes AS k;
