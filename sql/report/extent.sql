-- extent | in: side | out: extent | grain: one row | params: place COLUMNS
-- Least and largest finite number of a column, and how many different ones there are.
SELECT
    min(f.value) AS least,
    max(f.value) AS largest,
    count(DISTINCT f.value) AS different_values
FROM (
    SELECT
        COLUMNS(getvariable('place')) AS value
    FROM side AS s
) AS f
WHERE isfinite(f.value);
