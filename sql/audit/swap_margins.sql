-- swap_margins | in: swap_sides | out: swap_margins | grain: one row | params: -
-- Confidential values, and by how many records in all their frequencies differ between source and release.
SELECT
    count(*) AS "values",
    CAST(coalesce(sum(abs(m.after - m.before)), 0) AS BIGINT) AS deviation
FROM (
    SELECT
        s.value,
        sum(s.before) AS before,
        sum(s.after) AS after
    FROM swap_sides AS s
    GROUP BY s.value
) AS m;
