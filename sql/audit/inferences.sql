-- inferences | in: cells, protected_values, thresholds | out: inferences | grain: one row per position | params: -
-- Inferences (group, protected value) with a confidence strictly above each threshold, compared as
-- whole numbers; a value that several templates protect counts once.
-- Source: Wang, Fung, Yu 2005, Table 3.
WITH protected_cells AS (
    SELECT
        c.class_records,
        c.records
    FROM cells AS c
    WHERE EXISTS (
        SELECT
            1
        FROM protected_values AS p
        WHERE p.value IS NOT DISTINCT FROM c.value
    )
)
SELECT
    t.position,
    count(*) FILTER (
        WHERE CAST(c.records AS HUGEINT) * t.denominator
        > CAST(c.class_records AS HUGEINT) * t.numerator
    ) AS inferences
FROM thresholds AS t
CROSS JOIN protected_cells AS c
GROUP BY t.position
ORDER BY t.position;
