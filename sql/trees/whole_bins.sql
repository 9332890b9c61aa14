-- whole_bins | in: - | out: whole_bins | grain: one row per bin | params: first BIGINT[], last BIGINT[], cell INTEGER[]
-- Whole bins, with the cell to which all their records go; bins from first up to last, last excluded.
SELECT
    unnest(range(run.first, run.last)) AS bin,
    run.cell::USMALLINT AS cell
FROM (
    SELECT
        unnest($first::BIGINT[]) AS first,
        unnest($last::BIGINT[]) AS last,
        unnest($cell::INTEGER[]) AS cell
) AS run;
