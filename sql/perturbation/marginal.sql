-- marginal | in: noisy | out: marginal | grain: one row per value | params: attribute COLUMNS
-- Records of each released category or cell.
SELECT
    CAST(COLUMNS(getvariable('attribute')) AS VARCHAR) AS value,
    count(*) AS records
FROM noisy AS n
GROUP BY ALL
HAVING value IS NOT NULL
ORDER BY ALL;
