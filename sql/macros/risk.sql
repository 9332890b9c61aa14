-- risk | in: - | out: ppdm_risk | grain: one row | params: -
-- FROM ppdm_risk('policies', ['Age', 'Gender'])
-- The size k of the smallest class, and the risk in [0, 1] that a record is found by its quasi-identifier.
-- Source: El Emam, Dankar 2008, doi:10.1197/jamia.M2716; Dankar, El Emam 2010 (marketer).
CREATE OR REPLACE MACRO ppdm_risk(tbl, qi, person := NULL) AS TABLE
SELECT
    CAST(coalesce(sum(records), 0) AS BIGINT) AS records,
    count(*) AS classes,
    min(records) AS k,
    avg(records) AS average_class,
    count(*) FILTER (WHERE records = 1) AS unique_records,
    1 / CAST(min(records) AS DOUBLE) AS prosecutor_highest,
    count(*) / CAST(sum(records) AS DOUBLE) AS prosecutor_average,
    count(*) / CAST(sum(records) AS DOUBLE) AS marketer
FROM counted_classes(tbl, qi, 'qi', person);
