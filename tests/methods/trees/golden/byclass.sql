SELECT
  COUNT(*),
  COUNT("s"."risk"),
  MIN(CAST("s"."age" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE)) AND NOT "s"."risk" IS NULL),
  MAX(CAST("s"."age" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE)) AND NOT "s"."risk" IS NULL)
FROM "memory"."main"."people" AS s;

SELECT
  c.category
FROM (
  SELECT DISTINCT
    CAST("job" AS TEXT) AS category
  FROM "memory"."main"."people"
) AS c
WHERE
  NOT c.category IS NULL
ORDER BY
  c.category ASC
LIMIT 257;

SELECT
  CAST(s.value AS TEXT) AS class
FROM (
  SELECT DISTINCT
    "risk" AS value
  FROM "memory"."main"."people"
) AS s
WHERE
  NOT s.value IS NULL
ORDER BY
  s.value ASC
LIMIT 257;

CREATE TEMP TYPE type AS ENUM (SELECT UNNEST(['clerk', 'it''s']));

CREATE TEMP TYPE type_2 AS ENUM (SELECT UNNEST(['high', 'low']));

CREATE TEMPORARY TABLE coded AS
SELECT
  CAST(ENUM_CODE(TRY_CAST(class_text AS type_2)) AS UTINYINT) AS class,
  CAST((
    CASE
      WHEN v0 IS NULL
      THEN 32
      ELSE LEAST(
        GREATEST(FLOOR((
          v0 - -CAST(50.0 AS DOUBLE)
        ) * 4 / CAST(25.0 AS DOUBLE)), 0),
        31
      )
    END
  ) AS USMALLINT) AS bin0,
  v0 AS value0,
  CAST((
    COALESCE(ENUM_CODE(TRY_CAST(v1 AS type)), 2)
  ) AS UTINYINT) AS code1
FROM (
  SELECT
    CAST("s"."risk" AS TEXT) AS "class_text",
    CAST("s"."age" AS DOUBLE) AS "v0",
    CAST("s"."job" AS TEXT) AS "v1"
  FROM "memory"."main"."people" AS s
) AS v
WHERE
  NOT class_text IS NULL;

SELECT
  c.class,
  COUNT(*) AS records
FROM coded AS c
GROUP BY
  c.class;

SELECT
  CAST(0 AS USMALLINT) AS attribute,
  CAST(r.class AS USMALLINT) AS class,
  r.bin0 AS bin,
  COUNT(*) AS records
FROM coded AS r
GROUP BY ALL;

CREATE TEMPORARY TABLE whole_bins AS
SELECT
  UNNEST(RANGE(run.first, run.last)) AS bin,
  CAST(run.cell AS USMALLINT) AS cell
FROM (
  SELECT
    UNNEST(CAST([8, 19, 45, 49, 32, 65] AS BIGINT[])) AS first,
    UNNEST(CAST([12, 24, 49, 52, 33, 66] AS BIGINT[])) AS last,
    UNNEST(CAST([0, 3, 1, 2, 4, 4] AS INT[])) AS cell
) AS run;

CREATE TEMPORARY TABLE records AS
SELECT
  CAST(0 AS INT) AS node,
  r.class,
  CAST((
    w0.cell
  ) AS UTINYINT) AS code0,
  r.code1
FROM coded AS r
JOIN whole_bins AS w0
  ON w0.bin = r.class * CAST(33 AS BIGINT) + r.bin0;

SELECT
  CAST(0 AS USMALLINT) AS attribute,
  node,
  code0 AS code,
  class,
  COUNT(*) AS records
FROM records
GROUP BY
  node,
  code0,
  class
UNION ALL
SELECT
  CAST(1 AS USMALLINT) AS attribute,
  node,
  code1 AS code,
  class,
  COUNT(*) AS records
FROM records
GROUP BY
  node,
  code1,
  class;

CREATE TEMPORARY TABLE splits AS
SELECT
  UNNEST(CAST([0] AS INT[])) AS node,
  CAST(UNNEST(CAST([0] AS INT[])) AS USMALLINT) AS attribute,
  UNNEST(CAST([0] AS BIGINT[])) AS first_place,
  UNNEST(CAST([0] AS BIGINT[])) AS first_bin,
  UNNEST(CAST([0] AS INT[])) AS settled_from;

CREATE TEMPORARY TABLE child_nodes AS
SELECT
  UNNEST(RANGE(run.first, run.last)) AS place,
  run.node,
  run.settled
FROM (
  SELECT
    UNNEST(CAST([0, 4] AS BIGINT[])) AS first,
    UNNEST(CAST([3, 5] AS BIGINT[])) AS last,
    UNNEST(CAST([0, 0] AS INT[])) AS node,
    UNNEST(CAST([TRUE, TRUE] AS BOOLEAN[])) AS settled
) AS run;

CREATE TEMPORARY TABLE records_2 AS
SELECT
  c.node,
  p.class,
  p.code0,
  p.code1
FROM (
  SELECT
    r.*,
    s.first_place + CASE s.attribute WHEN 0 THEN r.code0 WHEN 1 THEN r.code1 END AS place
  FROM records AS r
  JOIN splits AS s
    ON s.node = r.node
) AS p
JOIN child_nodes AS c
  ON c.place = p.place;

DROP TABLE IF EXISTS records;

DROP TABLE IF EXISTS splits;

DROP TABLE IF EXISTS child_nodes;

SELECT
  CAST(0 AS USMALLINT) AS attribute,
  node,
  code0 AS code,
  class,
  COUNT(*) AS records
FROM records_2
GROUP BY
  node,
  code0,
  class
UNION ALL
SELECT
  CAST(1 AS USMALLINT) AS attribute,
  node,
  code1 AS code,
  class,
  COUNT(*) AS records
FROM records_2
GROUP BY
  node,
  code1,
  class;

BEGIN;

/* create_schema | in: - | out: ppdm | grain: - | params: - */
/* Holds the frozen rows of releases and what is known of them. */
CREATE SCHEMA IF NOT EXISTS ppdm;

CREATE MACRO "memory"."main"."tree_predict"(
    "age"
) AS
CAST(CASE
  WHEN CAST("age" AS DOUBLE) >= CAST('75.0' AS DOUBLE)
  THEN 'high'
  WHEN CAST("age" AS DOUBLE) < CAST('25.0' AS DOUBLE)
  THEN 'high'
  ELSE 'low'
END AS TEXT);

COMMIT;
