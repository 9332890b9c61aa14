-- additions | in: original, released | out: additions | grain: one row | params: plain VARCHAR[]
-- Combinations of what no method has masked of which the release has more records than the original; where records were
-- left out it may have fewer.
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
differences AS (
    SELECT
        COLUMNS(getvariable('plain')),
        sum(c.records) AS records
    FROM counts AS c
    GROUP BY ALL
)
SELECT
    count(*) FILTER (d.records < 0) AS additions
FROM differences AS d;
