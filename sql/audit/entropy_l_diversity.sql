-- entropy_l_diversity | in: cells | out: entropy_l_diversity | grain: one row per class | params: l DOUBLE
-- exp of the entropy (in nats) of a class's sensitive values, NULL being one. Floating point: shown
-- to 12 places; l is the limit less what rounding may take away.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, doi:10.1109/ICDE.2006.1.
WITH diversities AS (
    SELECT
        c.class,
        min(c.class_records) AS class_records,
        exp(
            ln(min(c.class_values)) - sum(c.records * ln(c.records)) / min(c.class_values)
        ) AS diversity
    FROM cells AS c
    GROUP BY c.class
)
SELECT
    d.class,
    d.class_records,
    round(d.diversity, 12) AS reached,
    d.diversity < param('l') AS violates
FROM diversities AS d;
