-- association | in: grouped | out: association | grain: one row | params: first COLUMNS, second COLUMNS
-- Chi-square of two columns over the records, with the numbers of values and of records; NULL is a value.
-- Source: Cramer 1946, Mathematical Methods of Statistics, section 21.9.
WITH cells AS (
    SELECT
        COLUMNS(getvariable('first')) AS row_value,
        COLUMNS(getvariable('second')) AS column_value,
        CAST(sum(g.records) AS DOUBLE) AS records
    FROM grouped AS g
    GROUP BY ALL
),
margins AS (
    SELECT
        c.records,
        sum(c.records) OVER (PARTITION BY c.row_value) AS row_records,
        sum(c.records) OVER (PARTITION BY c.column_value) AS column_records,
        dense_rank() OVER (ORDER BY c.row_value) AS row_number,
        dense_rank() OVER (ORDER BY c.column_value) AS column_number
    FROM cells AS c
)
SELECT
    greatest(sum(m.records) * (sum(m.records * m.records / (m.row_records * m.column_records)) - 1), 0) AS chi_square,
    max(m.row_number) AS row_values,
    max(m.column_number) AS column_values,
    sum(m.records) AS records
FROM margins AS m;
