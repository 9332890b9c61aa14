-- association | in: cells | out: association | grain: one row per pair | params: -
-- Chi-square of each pair of columns over the records, with the numbers of values and of records; NULL is a value.
-- Source: Cramer 1946, Mathematical Methods of Statistics, section 21.9.
WITH margins AS (
    SELECT
        c.pair,
        c.records,
        sum(c.records) OVER (PARTITION BY c.pair, c.row_value) AS row_records,
        sum(c.records) OVER (PARTITION BY c.pair, c.column_value) AS column_records,
        dense_rank() OVER (PARTITION BY c.pair ORDER BY c.row_value) AS row_number,
        dense_rank() OVER (PARTITION BY c.pair ORDER BY c.column_value) AS column_number
    FROM cells AS c
)
SELECT
    m.pair,
    greatest(sum(m.records) * (sum(m.records * m.records / (m.row_records * m.column_records)) - 1), 0) AS chi_square,
    max(m.row_number) AS row_values,
    max(m.column_number) AS column_values,
    sum(m.records) AS records
FROM margins AS m
GROUP BY m.pair
ORDER BY m.pair;
