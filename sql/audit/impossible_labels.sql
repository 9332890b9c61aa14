-- impossible_labels | in: released | out: impossible_labels | grain: one row | params: value VARCHAR, labels
-- Records with a cell or category that their noise does not know.
SELECT
    count(*) AS records
FROM (
    SELECT
        CAST(COLUMNS(getvariable('value')) AS VARCHAR) AS label
    FROM released AS r
) AS l
WHERE l.label IS NOT NULL
    AND NOT list_contains(CAST($labels AS VARCHAR[]), l.label);
