SELECT
  COUNT(*),
  MAX(p0 / NULLIF(n, 0))
FROM (
  SELECT
    0 AS group0,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(p0) AS BIGINT) AS p0
  FROM grid
  GROUP BY
    group0
) AS groups;

WITH coded AS MATERIALIZED (
  SELECT
    group0,
    part1,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(p0) AS BIGINT) AS p0
  FROM (
    SELECT
      0 AS group0,
      CAST(CASE
        WHEN c1 < 2
        THEN CASE WHEN c1 < 1 THEN 1 ELSE 0 END
        ELSE CASE WHEN c1 < 3 THEN 1 ELSE 0 END
      END AS INT) AS part1,
      n,
      p0
    FROM grid
  )
  WHERE
    part1 >= 0
  GROUP BY ALL
)
SELECT
  candidate,
  MAX(p0 / NULLIF(n, 0))
FROM (
  SELECT
    group0,
    part1 AS part,
    [0, 0][part1 + 1] AS candidate,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(p0) AS BIGINT) AS p0
  FROM coded
  WHERE
    part1 >= 0
  GROUP BY
    group0,
    part,
    candidate
) AS parts
GROUP BY
  candidate;

SELECT
  0 AS candidate,
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
          WHEN c1 < 2
          THEN CASE WHEN c1 < 1 THEN 1 ELSE 0 END
          ELSE CASE WHEN c1 < 3 THEN 1 ELSE 0 END
        END AS BIGINT) + CAST(CASE WHEN c2 < 3 THEN 0 ELSE 2 END AS BIGINT) AS group0,
        CAST(CASE WHEN c0 < 1 THEN 0 ELSE 1 END AS INT) AS place,
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
  candidate,
  place;

SELECT
  code,
  MAX(next) AS next
FROM (
  SELECT
    code,
    LEAD(code) OVER along AS next,
    LAG(code) OVER along IS NULL AS begins,
    CAST((
      SUM(n) OVER along
    ) AS BIGINT) AS left_n,
    CAST((
      SUM(p0) OVER along
    ) AS BIGINT) AS left_p0,
    CAST((
      SUM(n) OVER whole
    ) AS BIGINT) AS total_n,
    CAST((
      SUM(p0) OVER whole
    ) AS BIGINT) AS total_p0
  FROM (
    SELECT
      group0,
      part,
      code,
      CAST(SUM(n) AS BIGINT) AS n,
      CAST(SUM(p0) AS BIGINT) AS p0
    FROM (
      SELECT
        CAST(CASE
          WHEN c1 < 2
          THEN CASE WHEN c1 < 1 THEN 1 ELSE 0 END
          ELSE CASE WHEN c1 < 3 THEN 1 ELSE 0 END
        END AS BIGINT) AS group0,
        CAST(CASE WHEN c2 < 3 THEN 0 ELSE -1 END AS INT) AS part,
        c2 AS code,
        n,
        p0
      FROM grid
    ) AS records
    WHERE
      part >= 0
    GROUP BY
      group0,
      part,
      code
  ) AS by_value
  WINDOW along AS (
    PARTITION BY group0, part
    ORDER BY code
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  ), whole AS (PARTITION BY group0, part)
) AS sides
WHERE
  NOT next IS NULL
  AND (
    CAST(GREATEST(
      left_p0 / NULLIF(left_n, 0),
      (
        total_p0 - left_p0
      ) / NULLIF((
        total_n - left_n
      ), 0)
    ) AS DOUBLE) > 0.5
  )
GROUP BY
  code;
