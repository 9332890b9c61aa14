-- labels_differ | in: released | out: labels_differ | grain: one row | params: shown COLUMNS
-- Whether a column shows two labels or more; NULL is a label.
SELECT
    coalesce(min(COLUMNS(getvariable('shown'))) < max(COLUMNS(getvariable('shown'))), FALSE)
    OR count(COLUMNS(getvariable('shown'))) BETWEEN 1 AND count(*) - 1 AS differ
FROM released AS r;
