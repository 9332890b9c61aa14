SELECT
  "c0" AS "first",
  "c3" AS "second",
  CAST(SUM(n) AS BIGINT) AS records
FROM atoms
GROUP BY ALL;
