-- category_totals | in: atoms | out: category_totals | grain: one row per value of the column | params: code COLUMNS
-- Records of each confidential value.
SELECT COLUMNS(getvariable('code')) AS category, CAST(sum(n) AS BIGINT) AS records
FROM atoms
GROUP BY ALL;
