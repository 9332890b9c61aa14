CREATE TEMPORARY TABLE grid AS
SELECT
  c0,
  c1,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(COALESCE(SUM(n) FILTER(WHERE
    c3 = 1), 0) AS BIGINT) AS p0
FROM atoms
GROUP BY
  c0,
  c1;

SELECT
  COUNT(*),
  MAX(p0 / NULLIF(n, 0)),
  SUM(CAST(n AS DOUBLE) * n)
FROM grid AS groups;

SELECT
  place,
  MAX(GREATEST(p0 / NULLIF(n, 0), (
    total_p0 - p0
  ) / NULLIF((
    total_n - n
  ), 0)))
FROM (
  SELECT
    *,
    CAST((
      SUM(n) OVER later
    ) AS BIGINT) AS total_n,
    CAST((
      SUM(p0) OVER later
    ) AS BIGINT) AS total_p0
  FROM (
    SELECT
      group0,
      place,
      CAST(SUM(n) AS BIGINT) AS n,
      CAST(SUM(p0) AS BIGINT) AS p0
    FROM (
      SELECT
        0 AS group0,
        CAST(CASE
          WHEN c0 < 2
          THEN CASE WHEN c0 < 1 THEN 2 ELSE 1 END
          ELSE CASE WHEN c0 < 3 THEN 2 ELSE 0 END
        END AS INT) AS place,
        n,
        p0
      FROM grid
    )
    WHERE
      place >= 0
    GROUP BY
      group0,
      place
  ) AS parts
  WINDOW later AS (
    PARTITION BY group0
    ORDER BY place DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
) AS leaving
WHERE
  place < 2
GROUP BY
  place;

CREATE TEMPORARY TABLE texts AS
SELECT
  0 AS attribute,
  code,
  CAST(value AS TEXT) AS value
FROM dictionary
UNION ALL
SELECT
  1 AS attribute,
  code,
  CAST(value AS TEXT) AS value
FROM dictionary_2
UNION ALL
SELECT
  2 AS attribute,
  code,
  CAST(value AS TEXT) AS value
FROM dictionary_3;

CREATE TEMPORARY TABLE labels AS
SELECT
  UNNEST(CAST([0, 1, 2] AS INT[])) AS attribute,
  UNNEST(CAST([0, 0, 0] AS BIGINT[])) AS node,
  UNNEST(CAST(['*', '*', '*'] AS TEXT[])) AS label,
  UNNEST(CAST([NULL, NULL, NULL] AS TEXT[])) AS lower,
  UNNEST(CAST([NULL, NULL, NULL] AS TEXT[])) AS upper,
  UNNEST(CAST([NULL, NULL, NULL] AS BOOLEAN[])) AS closed
UNION ALL
SELECT
  t.attribute,
  t.code + 1,
  t.value,
  NULL,
  NULL,
  NULL
FROM texts AS t
WHERE
  ARRAY_CONTAINS(CAST([0, 1, 2] AS INT[]), t.attribute);

CREATE TEMPORARY TABLE cuts AS
WITH runs AS (
  SELECT
    UNNEST(CAST([0, 0, 0, 0, 1, 2, 2, 2, 2] AS INT[])) AS attribute,
    UNNEST(CAST([0, 1, 2, 3, 0, 0, 1, 2, 3] AS BIGINT[])) AS code,
    UNNEST(CAST([0, 2, 0, 4, 0, 1, 0, 3, 0] AS BIGINT[])) AS node
)
SELECT
  CAST(['Job', 'Sex', 'Salary', 'Bankruptcy', 'Class'] AS TEXT[])[t.attribute + 1] AS attribute,
  t.value,
  l.label AS generalized
FROM texts AS t
ASOF JOIN runs AS r
  ON r.attribute = t.attribute AND t.code >= r.code
JOIN labels AS l
  ON l.attribute = r.attribute AND l.node = r.node;
