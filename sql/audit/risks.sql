-- risks | in: classes | out: risks | grain: one row | params: risk_threshold DOUBLE
-- Risk of a record: 1 / its class's size in the table (prosecutor, who knows that the person is in
-- it) or in the population (journalist, who does not); a marketer expects the latter's average.
-- Source: El Emam, Dankar 2008, doi:10.1197/jamia.M2716; Dankar, El Emam 2010 (marketer).
WITH smallest_classes AS (
    SELECT
        min(c.class_records) AS class_records,
        min(c.population_records) AS population_records
    FROM classes AS c
),
class_risks AS (
    SELECT
        c.class_records,
        1 / nullif(c.class_records, 0) AS risk,
        1 / nullif(c.population_records, 0) AS population_risk,
        c.class_records / nullif(c.population_records, 0) AS expected_finds,
        c.class_records = s.class_records AS at_highest,
        c.population_records = s.population_records AS at_population_highest,
        c.population_records = 0 AS uncovered
    FROM classes AS c
    CROSS JOIN smallest_classes AS s
)
SELECT
    count(*) AS classes,
    CAST(coalesce(sum(r.class_records), 0) AS BIGINT) AS records,
    count(*) FILTER (WHERE r.uncovered) AS uncovered_classes,
    max(r.risk) AS highest,
    count(*) / nullif(sum(r.class_records), 0) AS average,
    CAST(sum(r.class_records) FILTER (WHERE r.at_highest) AS BIGINT) AS records_at_highest,
    coalesce(sum(r.class_records) FILTER (WHERE r.risk > param('risk_threshold')), 0)
    / nullif(sum(r.class_records), 0) AS share_above,
    max(r.population_risk) AS population_highest,
    sum(r.expected_finds) / nullif(sum(r.class_records), 0) AS population_average,
    CAST(sum(r.class_records) FILTER (WHERE r.at_population_highest) AS BIGINT)
        AS population_records_at_highest,
    coalesce(sum(r.class_records) FILTER (WHERE r.population_risk > param('risk_threshold')), 0)
    / nullif(sum(r.class_records), 0) AS population_share_above
FROM class_risks AS r;
