CREATE TEMPORARY TABLE grid AS
SELECT
  c0,
  c1,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(COALESCE(SUM(n) FILTER(WHERE
    c3 = 1), 0) AS BIGINT) AS p0,
  CAST(COALESCE(SUM(n) FILTER(WHERE
    c4 = 0), 0) AS BIGINT) AS p1
FROM atoms
GROUP BY
  c0,
  c1;

SELECT
  COUNT(*),
  MAX(p0 / NULLIF(n, 0)),
  SUM(CAST(n AS DOUBLE) * n),
  SUM(
    GREATEST(
      n * LOG(2, GREATEST(n, 1)) - (
        (
          n - p1
        ) * LOG(2, GREATEST((
          n - p1
        ), 1)) + (
          p1
        ) * LOG(2, GREATEST((
          p1
        ), 1))
      ),
      0
    )
  )
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
        CAST(CASE
          WHEN c0 < 2
          THEN CASE WHEN c0 < 1 THEN 2 ELSE 0 END
          ELSE CASE WHEN c0 < 3 THEN 2 ELSE 1 END
        END AS BIGINT) AS group0,
        CAST(CASE WHEN c1 < 1 THEN 0 ELSE 1 END AS INT) AS place,
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
  place < 1
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
  UNNEST(CAST([0, 0, 0, 0, 0, 0, 0, 1] AS INT[])) AS attribute,
  UNNEST(CAST([0, 1, 2, 3, 4, 5, 6, 0] AS BIGINT[])) AS node,
  UNNEST(
    CAST([
      'ANY_Job',
      'Blue-collar',
      'Carpenter',
      'Janitor',
      'White-collar',
      'Banker',
      'Doctor',
      '*'
    ] AS TEXT[])
  ) AS label,
  UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS TEXT[])) AS lower,
  UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS TEXT[])) AS upper,
  UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS BOOLEAN[])) AS closed
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
  ARRAY_CONTAINS(CAST([1] AS INT[]), t.attribute)
UNION ALL
(
  WITH intervals AS (
    SELECT
      UNNEST(CAST([2, 2, 2, 2, 2, 2, 2] AS INT[])) AS attribute,
      UNNEST(CAST([6, 3, 27, 1, 10, 9, 17] AS BIGINT[])) AS node,
      UNNEST(CAST([0, 0, 3, 0, 1, 1, 2] AS BIGINT[])) AS low,
      UNNEST(CAST([6, 3, 6, 1, 3, 2, 3] AS BIGINT[])) AS high,
      UNNEST(CAST([6, 6, 6, 6, 6, 6, 6] AS BIGINT[])) AS total,
      UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS TEXT[])) AS first,
      UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS TEXT[])) AS after,
      UNNEST(CAST(['*', '*', '*', '*', '*', '*', '*'] AS TEXT[])) AS symbol,
      UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS TEXT[])) AS bottom,
      UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS TEXT[])) AS top,
      UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS BIGINT[])) AS above_bottom,
      UNNEST(CAST([NULL, NULL, NULL, NULL, NULL, NULL, NULL] AS BIGINT[])) AS from_top
  ), bounds AS (
    SELECT
      i.attribute,
      i.node,
      i.low,
      i.high,
      i.total,
      i.symbol,
      CASE
        WHEN i.high > i.total OR (
          i.low = 0 AND NOT i.bottom IS NULL
        )
        THEN NULL
        WHEN i.low = i.from_top
        THEN i.top
        ELSE COALESCE(CASE WHEN i.low = 0 THEN i.first END, l.value)
      END AS lower,
      CASE
        WHEN i.high > i.total OR (
          i.high = i.total AND NOT i.top IS NULL
        )
        THEN NULL
        WHEN i.high = i.above_bottom
        THEN i.bottom
        WHEN i.high = i.from_top
        THEN i.top
        ELSE COALESCE(CASE WHEN i.high = i.total THEN i.after END, u.value)
      END AS upper,
      CASE
        WHEN i.high > i.total
        THEN NULL
        WHEN i.high = i.total AND NOT i.top IS NULL
        THEN FALSE
        WHEN i.high = i.above_bottom
        THEN TRUE
        ELSE i.high = i.total AND i.after IS NULL
      END AS closed
    FROM intervals AS i
    LEFT JOIN texts AS l
      ON l.attribute = i.attribute AND l.code = i.low
    LEFT JOIN texts AS u
      ON u.attribute = i.attribute
      AND u.code = CASE WHEN i.high < i.total THEN i.high ELSE i.total - 1 END
  )
  SELECT
    b.attribute,
    b.node,
    CASE
      WHEN b.low = 0 AND b.high > b.total
      THEN b.symbol
      WHEN b.low < b.total
      THEN CASE
        WHEN b.lower IS NULL AND b.upper IS NULL
        THEN 'any value'
        WHEN b.upper IS NULL
        THEN b.lower || ' or more'
        WHEN NOT b.lower IS NULL
        THEN '[' || b.lower || ', ' || b.upper || CASE WHEN b.closed THEN ']' ELSE ')' END
        WHEN b.closed
        THEN b.upper || ' or less'
        ELSE 'less than ' || b.upper
      END
    END AS label,
    b.lower,
    b.upper,
    b.closed
  FROM bounds AS b
);

CREATE TEMPORARY TABLE cuts AS
WITH runs AS (
  SELECT
    UNNEST(CAST([0, 0, 0, 0, 1, 2, 2, 2, 2] AS INT[])) AS attribute,
    UNNEST(CAST([0, 1, 2, 3, 0, 0, 1, 2, 3] AS BIGINT[])) AS code,
    UNNEST(CAST([4, 2, 4, 3, 0, 1, 9, 17, 27] AS BIGINT[])) AS node
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

SELECT
  node,
  label IS NULL,
  CAST(CAST(l.upper AS INT) AS DOUBLE) - CAST(CAST(l.lower AS INT) AS DOUBLE)
FROM labels AS l
WHERE
  attribute = 2;
