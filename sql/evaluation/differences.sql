-- differences | in: original, released | out: differences | grain: one row | params: plain VARCHAR[]
-- Combinations of what no method has masked of which both tables have other numbers of records, and those of which the
-- release has more; and how many records it lacks. Where records were left out it may have fewer.
WITH counts AS (
    SELECT
        COLUMNS(getvariable('plain')),
        o.records AS records
    FROM original AS o
    UNION ALL
    SELECT
        COLUMNS(getvariable('plain')),
        -r.records AS records
    FROM released AS r
),
summed AS (
    SELECT
        COLUMNS(getvariable('plain')),
        sum(c.records) AS records
    FROM counts AS c
    GROUP BY ALL
)
SELECT
    count(*) FILTER (s.records <> 0) AS differences,
    count(*) FILTER (s.records < 0) AS additions,
    coalesce(sum(s.records), 0) AS missing_records
FROM summed AS s;
