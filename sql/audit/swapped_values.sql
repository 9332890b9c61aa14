-- swapped_values | in: swap_cells | out: swapped_values | grain: one row per pattern and value | params: by VARCHAR[]
-- Records of each non-confidential pattern with each confidential value, in the source and in the release, and how
-- many of them the finest combinations, of all columns that are released unchanged, have lost.
SELECT
    COLUMNS(getvariable('by')),
    c.value,
    CAST(sum(c.before) AS BIGINT) AS before,
    CAST(sum(c.after) AS BIGINT) AS after,
    CAST(sum(c.moved) AS BIGINT) AS moved
FROM swap_cells AS c
GROUP BY ALL;
