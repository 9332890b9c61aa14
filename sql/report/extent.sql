-- extent | in: side | out: extent | grain: one row | params: place COLUMNS
-- Least and largest finite number of a column, and how many different ones there are.
SELECT
    min(COLUMNS(getvariable('place'))) AS least,
    max(COLUMNS(getvariable('place'))) AS largest,
    count(DISTINCT COLUMNS(getvariable('place'))) AS different_values
FROM side AS s
WHERE isfinite(COLUMNS(getvariable('place')));
