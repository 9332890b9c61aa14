-- household_risks | in: individual_risks | out: household_risks | grain: one row per household | params: -
-- The risk that any record of a household is found, as if records were found independently of each other.
SELECT
    r.household,
    1 AS records,
    CASE WHEN max(r.risk) >= 1 THEN 1.0 ELSE 1 - exp(sum(r.records * ln(1 - least(r.risk, 0.999999999999)))) END AS risk
FROM individual_risks AS r
GROUP BY r.household;
