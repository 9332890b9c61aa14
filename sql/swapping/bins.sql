-- bins | in: binned_codes | out: bins | grain: one row per bin | params: -
-- The dictionary of a column whose values became bins.
SELECT DISTINCT b.label AS value, CAST(b.bin AS BIGINT) AS code
FROM binned_codes AS b;
