-- recursive_diversity | in: - | out: ppdm_recursive_diversity | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_recursive_diversity('policies', ['Gender'], 'Amount', 2)
-- The most frequent sensitive value of a class against the l-th and all rarer ones: it is (c, l)-diverse for every c above.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, definition 4.3, doi:10.1109/ICDE.2006.1.
CREATE OR REPLACE MACRO ppdm_recursive_diversity(tbl, qi, sensitive, l, person := NULL) AS TABLE
WITH classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        CAST(sum(first_of_class) AS BIGINT) AS class_records,
        list_reverse_sort(list(records)) AS frequencies
    FROM counted_cells(tbl, qi, 'qi', sensitive, 'sensitive', person)
    GROUP BY ALL
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    class_records AS records,
    CASE
        WHEN l IS NULL OR l < 2 THEN error('l is below 2: give how many values are to be frequent, such as 2.')
        WHEN len(frequencies) < l THEN CAST('Infinity' AS DOUBLE)
        ELSE frequencies[1] / list_sum(frequencies[l:])
    END AS recursive_c
FROM classes;
