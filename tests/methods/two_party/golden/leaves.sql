SELECT
  CAST((
    CAST(leaf AS BIGINT) * 3 + GREATEST($child[c0 + 1], 0)
  ) AS UTINYINT) AS leaf
FROM "leaves"
POSITIONAL JOIN "records";

SELECT
  SHA256(LISTAGG(CAST(n AS TEXT), ','
  ORDER BY
    n)),
  MAX(leaf),
  COUNT(*),
  MAX(p0 / NULLIF(n, 0))
FROM (
  SELECT
    leaf,
    COUNT(*) AS n,
    COUNT(*) FILTER(WHERE
      c3 = 1) AS p0
  FROM "leaves"
  POSITIONAL JOIN "records"
  GROUP BY
    leaf
) AS groups;
