-- runs | in: - | out: runs | grain: one row per key | params: first BIGINT[], last BIGINT[], cell INTEGER[]
-- Whole bins by key, with the cell to which all their records go; keys from first up to last, last excluded.
SELECT
    unnest(range(run.first, run.last)) AS key,
    run.cell::USMALLINT AS cell
FROM (
    SELECT
        unnest($first::BIGINT[]) AS first,
        unnest($last::BIGINT[]) AS last,
        unnest($cell::INTEGER[]) AS cell
) AS run;
