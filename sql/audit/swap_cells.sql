-- swap_cells | in: swap_sides | out: swap_cells | grain: one row per combination and value | params: by VARCHAR[]
-- Records of each combination with each confidential value, in the source and in the release, and how many of them it
-- has lost.
SELECT
    COLUMNS(getvariable('by')),
    s.value,
    CAST(sum(s.before) AS BIGINT) AS before,
    CAST(sum(s.after) AS BIGINT) AS after,
    CAST(greatest(sum(s.before) - sum(s.after), 0) AS BIGINT) AS moved
FROM swap_sides AS s
GROUP BY ALL;
