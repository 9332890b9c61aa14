-- binned_values | in: values_to_label, bins | out: binned_values | grain: one row per value and bin that holds it | params: -
-- The bins of values; a value that none holds is left out, one that several hold comes several times.
SELECT
    v.value,
    b.label
FROM values_to_label AS v
JOIN bins AS b
    ON v.value >= b.lower
    AND (v.value < b.upper OR (b.closed AND v.value = b.upper))
UNION ALL
SELECT
    v.value,
    b.label
FROM values_to_label AS v
JOIN bins AS b
    ON v.value >= b.least
UNION ALL
SELECT
    v.value,
    b.label
FROM values_to_label AS v
JOIN bins AS b
    ON v.value <= b.most
WHERE b.closed
    OR v.value < b.most;
