SELECT
  COUNT(*),
  COUNT("s"."id"),
  COUNT(DISTINCT "s"."id")
FROM "memory"."main"."people" AS s;

CREATE TEMPORARY TABLE noisy AS
SELECT
  x0,
  x1,
  x2,
  x3,
  k0,
  CAST(ROUND(x0 + CAST('20.0' AS DOUBLE) * z.d0) AS BIGINT) AS r0,
  ROUND(
    (
      x1 + CAST('500.0' AS DOUBLE) * (
        2 * z.d1 - 1
      )
    ) / CAST('0.000244140625' AS DOUBLE)
  ) * CAST('0.000244140625' AS DOUBLE) AS r1,
  CASE
    WHEN x2 IS NULL
    THEN NULL
    WHEN x2 < CAST('1.0' AS DOUBLE)
    THEN '[0, 1)'
    WHEN x2 < CAST('3.0' AS DOUBLE)
    THEN '[1, 3)'
    ELSE '[3, 5]'
  END AS r2,
  CAST(CASE
    WHEN x3 IS NULL
    THEN NULL
    WHEN z.d2 < CAST('0.5' AS DOUBLE)
    THEN x3
    ELSE (
      CAST(['clerk', 'it''s'] AS TEXT[])
    )[1 + CAST(LEAST(FLOOR((
      z.d2 - CAST('0.5' AS DOUBLE)
    ) * CAST('4.0' AS DOUBLE)), 1) AS BIGINT)]
  END AS TEXT) AS r3
FROM (
  SELECT
    *,
    DRAWS(id) AS z
  FROM (
    SELECT
      CAST("s"."age" AS DOUBLE) AS "x0",
      CAST("s"."pay" AS DOUBLE) AS "x1",
      CAST("s"."hours" AS DOUBLE) AS "x2",
      CAST("s"."job" AS TEXT) AS "x3",
      "s"."class" AS "k0",
      CAST("s"."id" AS BIGINT) AS "id"
    FROM "memory"."main"."people" AS s
    ORDER BY
      "id"
  ) AS originals
) AS drawn;

SELECT
  0 AS "attribute",
  CASE WHEN NOT ISNAN("value") THEN CAST(GREATEST(LEAST("value", 10), -1) AS INT) END AS "cell",
  CAST(SUM("records") AS BIGINT) AS "records"
FROM (
  SELECT
    FLOOR((
      "x0" - CAST('-0.5' AS DOUBLE)
    ) / CAST('11.0' AS DOUBLE)) AS "value",
    COUNT(*) AS "records"
  FROM noisy
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  1 AS "attribute",
  CASE WHEN NOT ISNAN("value") THEN CAST(GREATEST(LEAST("value", 10), -1) AS INT) END AS "cell",
  CAST(SUM("records") AS BIGINT) AS "records"
FROM (
  SELECT
    FLOOR((
      "x1" - CAST('0.0' AS DOUBLE)
    ) / CAST('12.1' AS DOUBLE)) AS "value",
    COUNT(*) AS "records"
  FROM noisy
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  2 AS "attribute",
  CAST(CASE
    WHEN NOT "value" IS NULL
    THEN COALESCE(LIST_POSITION(['[0, 1)', '[1, 3)', '[3, 5]'], "value"), 0) - 1
  END AS INT) AS "cell",
  CAST(SUM("records") AS BIGINT) AS "records"
FROM (
  SELECT
    CAST("r2" AS TEXT) AS "value",
    COUNT(*) AS "records"
  FROM noisy
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  3 AS "attribute",
  CAST(CASE
    WHEN NOT "value" IS NULL
    THEN COALESCE(LIST_POSITION(['clerk', 'it''s'], "value"), 0) - 1
  END AS INT) AS "cell",
  CAST(SUM("records") AS BIGINT) AS "records"
FROM (
  SELECT
    CAST("x3" AS TEXT) AS "value",
    COUNT(*) AS "records"
  FROM noisy
  GROUP BY ALL
) AS counted
GROUP BY ALL;
