-- swap_beliefs | in: swapped_patterns | out: swap_beliefs | grain: one row | params: -
-- Of the released values, those that uniquely identifiable records show; those that are always true there; and the
-- largest share of them that is true.
SELECT
    count(*) AS shown_values,
    count(*) FILTER (b.true_records = b.records) AS always_true,
    max(b.true_records / b.records) AS largest_share
FROM (
    SELECT
        p.shown,
        count(*) AS records,
        count(*) FILTER (p.changed = 0) AS true_records
    FROM swapped_patterns AS p
    WHERE p.released = 1
        AND p.records = 1
    GROUP BY p.shown
) AS b;
