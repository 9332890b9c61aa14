-- delta_disclosure | in: cells, value_totals | out: delta_disclosure | grain: one row per class | params: ratio_numerator HUGEINT, ratio_denominator HUGEINT, limited BOOLEAN
-- Largest abs(log2(p / q)) of a sensitive value, p being its share in the class and q in the table; infinite, and
-- a violation, where the class lacks a value. The limit is on p / q and q / p: 2 to the power of delta.
-- Source: Brickell, Shmatikov 2008, doi:10.1145/1401890.1401904.
WITH shares AS (
    SELECT
        c.class,
        c.class_records,
        v.different_values,
        c.records * v.table_records AS in_class,
        v.value_records * c.class_records AS in_table
    FROM cells AS c
    INNER JOIN value_totals AS v
        ON c.value IS NOT DISTINCT FROM v.value
),
extremes AS (
    SELECT
        s.class,
        min(s.class_records) AS class_records,
        count(*) < min(s.different_values) AS lacks_values,
        max(greatest(s.in_class / s.in_table, s.in_table / s.in_class)) AS ratio,
        bool_or(
            greatest(s.in_class, s.in_table) * param('ratio_denominator')
            > least(s.in_class, s.in_table) * param('ratio_numerator')
        ) AS violates
    FROM shares AS s
    GROUP BY s.class
)
SELECT
    e.class,
    e.class_records,
    CASE WHEN e.lacks_values THEN CAST('Infinity' AS DOUBLE) ELSE log2(e.ratio) END AS reached,
    param('limited') AND (e.lacks_values OR e.violates) AS violates
FROM extremes AS e;
