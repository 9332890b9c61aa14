-- recursive_diversity | in: cells | out: recursive_diversity | grain: one row per class | params: l BIGINT, c_numerator HUGEINT, c_denominator HUGEINT, limited BOOLEAN
-- How many times as frequent a class's first sensitive value is as its l-th and all rarer ones together; infinitely
-- where it has fewer than l. It violates above the largest fraction below c, and where the ratio is infinite.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, definition 4.3, doi:10.1109/ICDE.2006.1.
WITH ranked_cells AS (
    SELECT
        c.class,
        c.class_records,
        c.records,
        row_number() OVER (PARTITION BY c.class ORDER BY c.records DESC, c.value) AS place
    FROM cells AS c
),
frequencies AS (
    SELECT
        r.class,
        min(r.class_records) AS class_records,
        max(r.records) AS most_frequent,
        sum(CASE WHEN r.place >= param('l') THEN r.records ELSE 0 END) AS rarer
    FROM ranked_cells AS r
    GROUP BY r.class
)
SELECT
    f.class,
    f.class_records,
    CASE WHEN f.rarer = 0 THEN CAST('Infinity' AS DOUBLE) ELSE f.most_frequent / f.rarer END AS reached,
    param('limited')
    AND f.most_frequent * param('c_denominator') > f.rarer * param('c_numerator') AS violates
FROM frequencies AS f;
