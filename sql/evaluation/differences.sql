-- differences | in: original, released | out: differences | grain: one row | params: plain VARCHAR[]
-- Combinations of what no method has masked, with their numbers of records, that only one table has.
WITH original_counts AS (
    SELECT
        COLUMNS(getvariable('plain')),
        sum(o.records) AS records
    FROM original AS o
    GROUP BY ALL
),
released_counts AS (
    SELECT
        COLUMNS(getvariable('plain')),
        sum(r.records) AS records
    FROM released AS r
    GROUP BY ALL
)
SELECT
    count(*) AS differences
FROM (
    (FROM original_counts EXCEPT FROM released_counts)
    UNION ALL
    (FROM released_counts EXCEPT FROM original_counts)
) AS d;
