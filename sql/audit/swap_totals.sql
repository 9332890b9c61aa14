-- swap_totals | in: swapped_values | out: swap_totals | grain: one row | params: by VARCHAR[], whole BOOLEAN, numerator HUGEINT, denominator HUGEINT
-- What a swap did, and where it is not what was asked: of a group of n records numerator are to be changed, or the share
-- numerator / denominator, rounded, at least 1 and at most n - 1. Then the values that are shown where records are alone.
-- Source: Li, Sarkar 2004, Definition 2 (a pattern with one value is identifiable), constraints (C1) and (C2).
WITH patterns AS (
    SELECT
        COLUMNS(getvariable('by')),
        CAST(sum(v.before) AS BIGINT) AS records,
        CAST(sum(v.after) AS BIGINT) AS released,
        count(*) FILTER (v.before > 0) AS "values",
        count(*) FILTER (v.after > 0) AS released_values,
        CAST(sum(greatest(v.before - v.after, 0)) AS BIGINT) AS changed,
        CAST(sum(v.moved) AS BIGINT) AS moved,
        max(v.value) FILTER (v.after > 0) AS shown
    FROM swapped_values AS v
    GROUP BY ALL
),
totals AS (
    SELECT
        CASE WHEN p.records = 1 AND p.released = 1 THEN p.shown END AS shown,
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
        sum(p.records) FILTER (p.records > 1 AND p."values" = 1) AS grouped,
        sum(p.changed) FILTER (p.records > 1 AND p."values" = 1) AS changed_grouped,
        sum(p.released) FILTER (p.released > 1 AND p.released_values = 1) AS grouped_after,
        count(*) FILTER (p.records = 1 AND p.released = 1) AS shown_records,
        count(*) FILTER (p.records = 1 AND p.released = 1 AND p.changed = 0) AS true_records
    FROM patterns AS p
    GROUP BY ALL
)
SELECT
    CAST(coalesce(sum(t.other_patterns), 0) AS BIGINT) AS other_patterns,
    CAST(coalesce(sum(t.changed_unidentifiable), 0) AS BIGINT) AS changed_unidentifiable,
    CAST(coalesce(sum(t.mixed), 0) AS BIGINT) AS mixed,
    CAST(coalesce(sum(t.wrong_groups), 0) AS BIGINT) AS wrong_groups,
    CAST(coalesce(sum(t."unique"), 0) AS BIGINT) AS "unique",
    CAST(coalesce(sum(t.changed_unique), 0) AS BIGINT) AS changed_unique,
    CAST(coalesce(sum(t.groups), 0) AS BIGINT) AS groups,
    CAST(coalesce(sum(t.grouped), 0) AS BIGINT) AS grouped,
    CAST(coalesce(sum(t.changed_grouped), 0) AS BIGINT) AS changed_grouped,
    CAST(coalesce(sum(t.grouped_after), 0) AS BIGINT) AS grouped_after,
    count(*) FILTER (t.shown_records > 0) AS shown_values,
    count(*) FILTER (t.shown_records > 0 AND t.true_records = t.shown_records) AS always_true,
    max(t.true_records / t.shown_records) FILTER (t.shown_records > 0) AS largest_share
FROM totals AS t;
