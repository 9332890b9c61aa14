-- outside_bins | in: atoms, binned_codes | out: outside_bins | grain: one row | params: code COLUMNS
-- Records whose value lies in no bin.
SELECT CAST(coalesce(sum(a.n), 0) AS BIGINT) AS records
FROM atoms AS a
JOIN binned_codes AS b
    ON b.code = COLUMNS(getvariable('code'))
WHERE b.label IS NULL;
