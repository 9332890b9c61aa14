-- recursive_ratio | in: cells | out: recursive_ratio | grain: one row | params: l INTEGER
-- The largest share of a class's most frequent value against its l-th and all rarer ones: the table is recursive
-- (c, l)-diverse for every c above it. NULL where a class has fewer than l values, and no c is enough.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, doi:10.1109/ICDE.2006.1.
WITH ranked_cells AS (
    SELECT
        c.class,
        c.records,
        row_number() OVER (PARTITION BY c.class ORDER BY c.records DESC) AS place
    FROM cells AS c
),
ratios AS (
    SELECT
        max(r.records) / sum(r.records) FILTER (r.place >= param('l')) AS ratio
    FROM ranked_cells AS r
    GROUP BY r.class
)
SELECT
    CASE WHEN count(*) = count(t.ratio) THEN max(t.ratio) END AS ratio
FROM ratios AS t;
