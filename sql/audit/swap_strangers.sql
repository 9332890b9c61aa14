-- swap_strangers | in: swap_cells | out: swap_strangers | grain: one row | params: unchanged VARCHAR[]
-- Combinations of all columns that are released unchanged whose number of records is another in the release.
SELECT
    count(*) AS combinations
FROM (
    SELECT
        COLUMNS(getvariable('unchanged'))
    FROM swap_cells AS c
    GROUP BY ALL
    HAVING sum(c.before) <> sum(c.after)
) AS s;
