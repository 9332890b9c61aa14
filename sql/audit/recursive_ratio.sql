-- recursive_ratio | in: cells | out: recursive_ratio | grain: one row | params: -
-- The most frequent value of a class against all its others, at worst: the table is recursive (c, 2)-diverse for
-- every c above it. NULL where a class has one value, and no c is enough.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, doi:10.1109/ICDE.2006.1.
SELECT
    CASE WHEN count(*) = count(t.ratio) THEN max(t.ratio) END AS ratio
FROM (
    SELECT
        max(c.records) / nullif(min(c.class_values) - max(c.records), 0) AS ratio
    FROM cells AS c
    GROUP BY c.class
) AS t;
