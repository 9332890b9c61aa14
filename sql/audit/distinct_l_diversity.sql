-- distinct_l_diversity | in: cells | out: distinct_l_diversity | grain: one row per class | params: l BIGINT
-- Number of different sensitive values of each class, NULL being one; it violates below l.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, doi:10.1109/ICDE.2006.1.
SELECT
    c.class,
    min(c.class_records) AS class_records,
    CAST(count(*) AS DOUBLE) AS reached,
    count(*) < param('l') AS violates
FROM cells AS c
GROUP BY c.class;
