CREATE TEMPORARY TABLE grid AS
SELECT
  c0 AS c0,
  c1 AS c1,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(COALESCE(SUM(n) FILTER(WHERE
    c3 = 1), 0) AS BIGINT) AS p0
FROM atoms
GROUP BY
  1,
  2;

SELECT
  COUNT(*),
  MAX(p0 / NULLIF(n, 0))
FROM grid AS groups;

SELECT
  COUNT(*),
  MAX(p0 / NULLIF(n, 0))
FROM (
  SELECT
    state,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(p0) AS BIGINT) AS p0
  FROM (
    SELECT
      CAST(SUM(n) AS BIGINT) AS n,
      CAST(SUM(p0) AS BIGINT) AS p0
    FROM grid
  ) AS refinement, RANGE(0, 1) AS states(state)
  GROUP BY
    state
) AS groups
GROUP BY
  state
ORDER BY
  state;

WITH fine AS MATERIALIZED (
  SELECT
    CAST(0 AS BIGINT) + [0, 2, 0, 1][c0 + 1] AS group0,
    [-1, 0][c1 + 1] AS candidate1,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(p0) AS BIGINT) AS p0
  FROM grid
  GROUP BY
    group0,
    candidate1
), parts AS (
  SELECT
    group0,
    candidate,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(p0) AS BIGINT) AS p0
  FROM (
    SELECT
      group0,
      UNNEST([candidate1]) AS candidate,
      n,
      p0
    FROM fine
  )
  WHERE
    candidate >= 0
  GROUP BY
    group0,
    candidate
), groups AS (
  SELECT
    group0,
    CAST(SUM(n) AS BIGINT) AS total_n,
    CAST(SUM(p0) AS BIGINT) AS total_p0
  FROM fine
  GROUP BY
    group0
)
SELECT
  candidate,
  MAX(GREATEST(p0 / NULLIF(n, 0), (
    total_p0 - p0
  ) / NULLIF((
    total_n - n
  ), 0)))
FROM parts
JOIN groups
  USING (group0)
GROUP BY
  candidate;

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
