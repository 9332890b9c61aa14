CREATE TEMPORARY TABLE identifiable AS
SELECT
  CAST(c1 AS UBIGINT) * 1 + CAST(c2 AS UBIGINT) * 2 + CAST(c0 AS UBIGINT) * 4 AS w0,
  CAST(SUM(n) AS BIGINT) AS records,
  CAST(MIN(c3) AS USMALLINT) AS category
FROM atoms
GROUP BY
  1
HAVING
  MIN(c3) = MAX(c3);

SELECT
  i.category,
  COUNT(*) FILTER(WHERE
    i.records = 1) AS "unique",
  COUNT(*) FILTER(WHERE
    i.records > 1) AS groups,
  COALESCE(CAST(SUM(i.records) FILTER(WHERE
    i.records > 1) AS BIGINT), 0) AS grouped
FROM identifiable AS i
GROUP BY
  i.category
ORDER BY
  i.category;
