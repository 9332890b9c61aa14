-- two_way_table | in: atoms | out: two_way_table | grain: one row per pair of values | params: first COLUMNS, second COLUMNS
-- Records by the values of two coded columns.
SELECT
    COLUMNS(getvariable('first')) AS "first",
    COLUMNS(getvariable('second')) AS "second",
    CAST(sum(n) AS BIGINT) AS records
FROM atoms
GROUP BY ALL;
