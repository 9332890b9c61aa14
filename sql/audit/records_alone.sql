-- records_alone | in: released | out: records_alone | grain: one row | params: shown COLUMNS
-- How many records have a combination of values that no other record has, or no other person where persons are
-- numbered; NULL is a value.
WITH combinations AS (
    SELECT
        COLUMNS(getvariable('shown')),
        sum(r.records) AS records,
        coalesce(min(r.person) = max(r.person), sum(r.records) = 1) AS alone
    FROM released AS r
    GROUP BY ALL
)
SELECT
    CAST(coalesce(sum(c.records) FILTER (c.alone), 0) AS HUGEINT) AS alone,
    CAST(coalesce(sum(c.records), 0) AS HUGEINT) AS records
FROM combinations AS c;
