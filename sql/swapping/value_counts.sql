-- value_counts | in: atoms, dictionary | out: value_counts | grain: one row per value | params: code COLUMNS
-- Records of each value of a coded column.
SELECT d.value, CAST(sum(a.n) AS BIGINT) AS records
FROM atoms AS a
JOIN dictionary AS d
    ON d.code = COLUMNS(getvariable('code'))
GROUP BY d.value;
