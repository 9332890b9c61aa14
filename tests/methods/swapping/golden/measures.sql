SELECT
  0 AS attribute,
  CAST(c0 AS BIGINT) AS a,
  c3 AS c,
  CAST(SUM(n) AS BIGINT) AS n
FROM atoms
GROUP BY ALL;
