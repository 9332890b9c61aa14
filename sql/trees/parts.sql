-- parts | in: - | out: parts | grain: one row per key and cell | params: key BIGINT[], first BIGINT[], last BIGINT[], cell INTEGER[]
-- Bins that a boundary divides: the records from place first up to last, last excluded, go to the cell.
SELECT
    unnest($key::BIGINT[]) AS key,
    unnest($first::BIGINT[]) AS first,
    unnest($last::BIGINT[]) AS last,
    unnest($cell::INTEGER[])::USMALLINT AS cell;
