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

WITH parts AS MATERIALIZED (
  SELECT
    leaf,
    part,
    COUNT(*) AS n,
    COUNT(*) FILTER(WHERE
      c3 = 1) AS p0
  FROM (
    SELECT
      *,
      $part[c0 + 1] AS part
    FROM leaves
    POSITIONAL JOIN records
  ) AS parted
  GROUP BY
    leaf,
    part
), wholes AS (
  SELECT
    leaf,
    CAST(SUM(n) AS BIGINT) AS total_n,
    CAST(SUM(p0) AS BIGINT) AS total_p0
  FROM parts
  GROUP BY
    leaf
)
SELECT
  $candidate[part + 1] AS candidate,
  MAX(GREATEST(p0 / NULLIF(n, 0), (
    total_p0 - p0
  ) / NULLIF((
    total_n - n
  ), 0)))
FROM parts
JOIN wholes
  USING (leaf)
WHERE
  part >= 0
GROUP BY
  candidate;

SELECT
  $candidate[part + 1] AS candidate,
  MAX(p0 / NULLIF(n, 0))
FROM (
  SELECT
    leaf,
    part,
    COUNT(*) AS n,
    COUNT(*) FILTER(WHERE
      c3 = 1) AS p0
  FROM (
    SELECT
      *,
      $part[c0 + 1] AS part
    FROM leaves
    POSITIONAL JOIN records
  ) AS parted
  WHERE
    part >= 0
  GROUP BY
    leaf,
    part
) AS parts
GROUP BY
  candidate;
