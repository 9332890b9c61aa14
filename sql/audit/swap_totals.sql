-- swap_totals | in: swapped_patterns | out: swap_totals | grain: one row | params: whole BOOLEAN, numerator HUGEINT, denominator HUGEINT
-- What a swap did, and where it is not what was asked. Of a group of n records numerator are to be changed, or the
-- share numerator / denominator, rounded; at least 1, and at most n - 1.
-- Source: Li, Sarkar 2004, constraints (C1) and (C2).
SELECT
    count(*) FILTER (p.records <> p.released) AS other_patterns,
    count(*) FILTER (p."values" > 1 AND p.moved > 0) AS changed_unidentifiable,
    count(*) FILTER (p."values" = 1 AND p.moved <> p.changed) AS mixed,
    count(*) FILTER (p.records > 1 AND p."values" = 1 AND p.changed <> least(
        CASE
            WHEN param('whole') THEN param('numerator')
            ELSE greatest(
                (2 * CAST(param('numerator') AS HUGEINT) * p.records + param('denominator'))
                // (2 * CAST(param('denominator') AS HUGEINT)),
                1
            )
        END,
        p.records - 1
    )) AS wrong_groups,
    count(*) FILTER (p.records = 1) AS "unique",
    count(*) FILTER (p.records = 1 AND p.changed = 1) AS changed_unique,
    count(*) FILTER (p.records > 1 AND p."values" = 1) AS groups,
    CAST(coalesce(sum(p.records) FILTER (p.records > 1 AND p."values" = 1), 0) AS BIGINT) AS grouped,
    CAST(coalesce(sum(p.changed) FILTER (p.records > 1 AND p."values" = 1), 0) AS BIGINT) AS changed_grouped,
    CAST(coalesce(sum(p.released) FILTER (p.released > 1 AND p.released_values = 1), 0) AS BIGINT) AS grouped_after
FROM swapped_patterns AS p;
