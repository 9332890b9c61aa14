SELECT
  COUNT(*),
  COUNT("s"."risk"),
  MIN(CAST("s"."age" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE)) AND NOT "s"."risk" IS NULL),
  MAX(CAST("s"."age" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE)) AND NOT "s"."risk" IS NULL)
FROM "memory"."main"."people" AS s;

CREATE TEMPORARY TABLE known_values AS
SELECT
  "s"."job" AS value,
  COUNT(*) AS records
FROM "memory"."main"."people" AS s
WHERE
  NOT "s"."job" IS NULL
GROUP BY
  "s"."job"
LIMIT 257;

SELECT
  c.category
FROM (
  SELECT DISTINCT
    CAST("value" AS TEXT) AS category
  FROM known_values
) AS c
WHERE
  NOT c.category IS NULL
ORDER BY
  c.category ASC
LIMIT 257;

CREATE TEMPORARY TABLE known_values_2 AS
SELECT
  "s"."risk" AS value,
  COUNT(*) AS records
FROM "memory"."main"."people" AS s
WHERE
  NOT "s"."risk" IS NULL
GROUP BY
  "s"."risk"
LIMIT 257;

SELECT
  CAST(v.value AS TEXT) AS class,
  v.records
FROM known_values_2 AS v
ORDER BY
  v.value ASC;

CREATE TEMP TYPE type AS ENUM (SELECT unnest(['high', 'low']));

CREATE TEMP TYPE type_2 AS ENUM (SELECT unnest(['clerk', 'it''s']));

CREATE TEMPORARY TABLE coded AS
SELECT
  CAST((
    ENUM_CODE(TRY_CAST(CAST(class_value AS TEXT) AS type))
  ) AS UTINYINT) AS class,
  CAST((
    (
      CASE
        WHEN v0 IS NULL
        THEN 4
        ELSE LEAST(
          GREATEST(
            FLOOR((
              v0 - CAST('0.0' AS DOUBLE)
            ) / CAST('23.75' AS DOUBLE)) + CAST((
              v0 >= CAST('0.0' AS DOUBLE) + (
                FLOOR((
                  v0 - CAST('0.0' AS DOUBLE)
                ) / CAST('23.75' AS DOUBLE)) + 1
              ) * CAST('95.0' AS DOUBLE) / 4
            ) AS TINYINT) - CAST((
              v0 < CAST('0.0' AS DOUBLE) + FLOOR((
                v0 - CAST('0.0' AS DOUBLE)
              ) / CAST('23.75' AS DOUBLE)) * CAST('95.0' AS DOUBLE) / 4
            ) AS TINYINT),
            0
          ),
          3
        )
      END
    )
  ) AS UTINYINT) AS code0,
  CAST((
    COALESCE(ENUM_CODE(TRY_CAST(CAST(v1 AS TEXT) AS type_2)), 2)
  ) AS UTINYINT) AS code1
FROM (
  SELECT
    "s"."risk" AS class_value,
    CAST("s"."age" AS DOUBLE) AS v0,
    CAST("s"."job" AS TEXT) AS v1
  FROM "memory"."main"."people" AS s
  WHERE
    NOT "s"."risk" IS NULL
) AS v;

CREATE TEMPORARY TABLE records AS
SELECT
  CAST(0 AS INT) AS node,
  c.*
FROM coded AS c;

SELECT
  CAST(0 AS SMALLINT) AS attribute,
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
  CAST(1 AS SMALLINT) AS attribute,
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
  UNNEST(CAST([0] AS USMALLINT[])) AS attribute,
  UNNEST(CAST([1] AS INT[])) AS cut,
  UNNEST(CAST([[]] AS INT[][])) AS categories,
  UNNEST(CAST([4] AS INT[])) AS nulls,
  UNNEST(CAST([FALSE] AS BOOLEAN[])) AS null_left,
  UNNEST(CAST([NULL] AS INT[])) AS left_node,
  UNNEST(CAST([0] AS INT[])) AS right_node,
  UNNEST(CAST([TRUE] AS BOOLEAN[])) AS left_settled,
  UNNEST(CAST([TRUE] AS BOOLEAN[])) AS right_settled,
  UNNEST(CAST([0] AS INT[])) AS settled_from,
  UNNEST(CAST([0] AS BIGINT[])) AS first_bin;

CREATE TEMPORARY TABLE records_2 AS
SELECT
  CASE WHEN left_side THEN left_node ELSE right_node END AS node,
  class,
  code0,
  code1
FROM (
  SELECT
    *,
    CASE
      WHEN cell = nulls
      THEN null_left
      ELSE cell < cut OR ARRAY_CONTAINS(categories, cell)
    END AS left_side
  FROM (
    SELECT
      b.*,
      b.code AS cell
    FROM (
      SELECT
        r.*,
        s.*
        EXCLUDE (node),
        CASE s.attribute WHEN 0 THEN r.code0 WHEN 1 THEN r.code1 END AS code
      FROM records AS r
      JOIN splits AS s
        ON s.node = r.node
    ) AS b
  ) AS c
) AS p
WHERE
  NOT CASE WHEN left_side THEN left_node ELSE right_node END IS NULL;

DROP TABLE IF EXISTS records;

DROP TABLE IF EXISTS splits;

SELECT
  CAST(0 AS SMALLINT) AS attribute,
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
  CAST(1 AS SMALLINT) AS attribute,
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
  WHEN CAST("age" AS DOUBLE) < CAST('23.75' AS DOUBLE)
  THEN 'high'
  WHEN CAST("age" AS DOUBLE) < CAST('71.25' AS DOUBLE) OR "age" IS NULL
  THEN 'low'
  ELSE 'high'
END AS TEXT);

COMMIT;
