-- records_alone | in: hashed | out: records_alone | grain: one row | params: shown COLUMNS, persons BOOLEAN
-- How many records have a combination of values that no other record has, or no other person where persons are
-- numbered; NULL is a value.
WITH combinations AS (
    SELECT
        COLUMNS(getvariable('shown')),
        sum(h.records) AS records,
        CASE WHEN param('persons') THEN min(h.person) = max(h.person) ELSE sum(h.records) = 1 END AS alone
    FROM hashed AS h
    GROUP BY ALL
)
SELECT
    CAST(coalesce(sum(c.records) FILTER (c.alone), 0) AS HUGEINT) AS alone,
    CAST(coalesce(sum(c.records), 0) AS HUGEINT) AS records
FROM combinations AS c;
