-- grid_rows | in: grid | out: grid_rows | grain: one row | params: -
-- Counts the rows of the table of counts, and the records that they stand for.
SELECT
    count(*) AS rows,
    coalesce(sum(g.n), 0)::BIGINT AS records
FROM grid AS g;
