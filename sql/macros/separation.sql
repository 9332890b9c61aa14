-- separation | in: - | out: ppdm_separation | grain: one row | params: -
-- FROM ppdm_separation('policies', ['Age', 'Gender'])
-- How far columns tell the records of a table apart: the classes over the records, and the pairs of records apart.
-- Source: Motwani, Xu 2007, Efficient algorithms for masking and finding quasi-identifiers.
CREATE OR REPLACE MACRO ppdm_separation(tbl, "columns", person := NULL) AS TABLE
SELECT
    CAST(coalesce(sum(records), 0) AS BIGINT) AS records,
    count(*) AS classes,
    count(*) FILTER (WHERE records = 1) AS unique_records,
    count(*) / CAST(sum(records) AS DOUBLE) AS distinction,
    CASE
        WHEN sum(records) = 1 THEN 1.0
        ELSE 1 - sum(CAST(records AS DOUBLE) * (records - 1)) / (CAST(sum(records) AS DOUBLE) * (sum(records) - 1))
    END AS separation
FROM counted_classes(tbl, "columns", 'columns', person);
