-- disclosed_labels | in: values_to_label, recorded_cuts | out: disclosed_labels | grain: one row per value of the population | params: name VARCHAR, symbol VARCHAR
-- What a suppressed column would show of each value: itself where the release discloses it, else the symbol.
SELECT
    v.value,
    CASE WHEN c.attribute IS NULL THEN param('symbol') ELSE c.generalized END AS label,
    FALSE AS is_outside
FROM values_to_label AS v
LEFT JOIN recorded_cuts AS c
    ON c.attribute = param('name')
    AND c.value IS NOT DISTINCT FROM CAST(v.value AS VARCHAR);
