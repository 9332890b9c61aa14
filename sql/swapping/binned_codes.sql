-- binned_codes | in: labelled | out: binned_codes | grain: one row per code | params: labels
-- Bins that hold a value, numbered from 0 in their order; values outside all bins come last.
SELECT
    l.code,
    l.label,
    CAST(
        dense_rank() OVER (ORDER BY list_position(CAST($labels AS VARCHAR[]), l.label) NULLS LAST) - 1 AS USMALLINT
    ) AS bin
FROM labelled AS l;
