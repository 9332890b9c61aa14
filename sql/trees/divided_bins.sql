-- divided_bins | in: - | out: divided_bins | grain: one row per bin and cell | params: bin BIGINT[], first BIGINT[], last BIGINT[], cell INTEGER[]
-- Bins that a boundary divides: the records from rank first up to last, last excluded, go to the cell.
SELECT
    unnest($bin::BIGINT[]) AS bin,
    unnest($first::BIGINT[]) AS first,
    unnest($last::BIGINT[]) AS last,
    unnest($cell::INTEGER[])::USMALLINT AS cell;
