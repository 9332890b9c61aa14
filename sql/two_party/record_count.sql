-- record_count | in: source | out: record_count | grain: one row | params: -
-- Counts the records.
SELECT count(*) AS records
FROM source AS s;
