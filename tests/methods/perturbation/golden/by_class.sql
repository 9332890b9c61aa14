CREATE TEMPORARY TABLE histogram AS
SELECT
  0 AS attribute,
  class,
  CASE WHEN NOT ISNAN(value) THEN CAST(GREATEST(LEAST(value, 4), -1) AS INT) END AS cell,
  CAST(SUM(records) AS BIGINT) AS records
FROM (
  SELECT
    "s"."class" AS class,
    FLOOR((
      CAST("s"."age" AS DOUBLE) - CAST('0.0' AS DOUBLE)
    ) / CAST('25.0' AS DOUBLE)) AS value,
    COUNT(*) AS records
  FROM "memory"."main"."people" AS s
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  1 AS attribute,
  class,
  CASE
    WHEN NOT value IS NULL
    THEN CAST((
      COALESCE(LIST_POSITION(['clerk', 'it''s'], value), 0) - 1
    ) AS INT)
  END AS cell,
  CAST(SUM(records) AS BIGINT) AS records
FROM (
  SELECT
    "s"."class" AS class,
    CAST("s"."job" AS TEXT) AS value,
    COUNT(*) AS records
  FROM "memory"."main"."people" AS s
  GROUP BY ALL
) AS counted
GROUP BY ALL;

CREATE TEMPORARY TABLE class_codes AS
SELECT
  ROW_NUMBER() OVER (ORDER BY c.class) - 1 AS class_code,
  c.class
FROM (
  SELECT DISTINCT
    h.class
  FROM histogram AS h
) AS c;

SELECT
  CAST(c.class AS TEXT) AS class,
  COUNT(*) OVER () AS classes
FROM class_codes AS c
ORDER BY
  c.class_code ASC
LIMIT 1000;

SELECT
  h.attribute,
  c.class_code,
  h.cell,
  h.records
FROM histogram AS h
JOIN class_codes AS c
  ON h.class IS NOT DISTINCT FROM c.class;

CREATE TEMPORARY TABLE distribution AS
SELECT
  UNNEST(CAST([] AS BIGINT[])) AS position,
  UNNEST(CAST([] AS TEXT[])) AS attribute,
  UNNEST(CAST([] AS BIGINT[])) AS class_code,
  UNNEST(CAST([] AS DOUBLE[])) AS lower,
  UNNEST(CAST([] AS DOUBLE[])) AS upper,
  UNNEST(CAST([] AS TEXT[])) AS value,
  UNNEST(CAST([] AS DOUBLE[])) AS probability,
  UNNEST(CAST([] AS DOUBLE[])) AS records;

BEGIN;

CREATE TABLE "result" AS
SELECT
  d."probability",
  d."records",
  c."class"
FROM distribution AS d
JOIN class_codes AS c
  ON c.class_code = d.class_code
ORDER BY
  d.position;

COMMIT;
