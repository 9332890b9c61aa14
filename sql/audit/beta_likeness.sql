-- beta_likeness | in: cells, value_totals | out: beta_likeness | grain: one row per class | params: beta_numerator HUGEINT, beta_denominator HUGEINT, enhanced BOOLEAN
-- Largest gain (p - q) / q of a sensitive value, p being its share in the class and q in the table. Enhanced: a
-- gain above -ln q violates whatever beta is, and counts as the table's records, more than any gain.
-- Source: Cao, Karras 2012, doi:10.14778/2350229.2350255.
WITH gains AS (
    SELECT
        c.class,
        c.class_records,
        v.table_records,
        c.records * v.table_records - v.value_records * c.class_records AS gained,
        v.value_records * c.class_records AS whole,
        param('enhanced') AND gained / whole > -ln(v.value_records / v.table_records) AS above_own_limit
    FROM cells AS c
    INNER JOIN value_totals AS v
        ON c.value IS NOT DISTINCT FROM v.value
)
SELECT
    g.class,
    min(g.class_records) AS class_records,
    max(CASE WHEN g.above_own_limit THEN g.table_records ELSE g.gained / g.whole END) AS reached,
    bool_or(
        g.above_own_limit OR g.gained * param('beta_denominator') > g.whole * param('beta_numerator')
    ) AS violates
FROM gains AS g
GROUP BY g.class;
