-- risk_totals | in: individual_risks | out: risk_totals | grain: one row | params: threshold DOUBLE
-- Risks summed up over the records: how many re-identifications are to be expected, and how many are above the threshold.
SELECT
    CAST(sum(r.records) AS BIGINT) AS records,
    sum(r.records * r.risk) AS expected,
    max(r.risk) AS highest,
    CAST(coalesce(sum(r.records) FILTER (WHERE r.risk > param('threshold')), 0) AS BIGINT) AS above
FROM individual_risks AS r;
