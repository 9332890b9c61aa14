-- equal_t_closeness | in: cells, value_totals | out: equal_t_closeness | grain: one row per class | params: t_numerator HUGEINT, t_denominator HUGEINT
-- Earth mover's distance with equal distances, for categories: half the sum over the table's values
-- of |share in the class - share in the table|; here in whole numbers, times 2 x class x table.
-- Source: Li, Li, Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
WITH distances AS (
    SELECT
        c.class,
        min(c.class_records) AS class_records,
        sum(abs(c.records * v.table_values - v.value_records * c.class_values))
        + min(c.class_values) * (min(v.table_values) - sum(v.value_records)) AS moved,
        2 * min(c.class_values) * min(v.table_values) AS whole
    FROM cells AS c
    INNER JOIN value_totals AS v
        ON c.value IS NOT DISTINCT FROM v.value
    GROUP BY c.class
)
SELECT
    d.class,
    d.class_records,
    d.moved / nullif(d.whole, 0) AS reached,
    d.moved * param('t_denominator') > d.whole * param('t_numerator') AS violates
FROM distances AS d;
