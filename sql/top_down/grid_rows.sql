-- grid_rows | in: grid | out: grid_rows | grain: one row | params: -
-- Counts the rows of the table of counts.
SELECT count(*) AS rows
FROM grid AS g;
