CREATE TEMPORARY VIEW view AS
SELECT
  *
FROM (
  UNPIVOT (
    SELECT
      "job",
      "risk"
    FROM "memory"."main"."people"
    LIMIT 2048
  )
  ON COLUMNS(*)
  INTO NAME name VALUE value
) AS s;

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
  CAST(value AS TEXT) AS text,
  CAST(SUM(records) AS BIGINT)
FROM known_values
GROUP BY
  text
ORDER BY
  text;

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
  CAST(value AS TEXT) AS text,
  CAST(SUM(records) AS BIGINT)
FROM known_values_2
GROUP BY
  text
ORDER BY
  MIN(value),
  text;

CREATE TEMPORARY TABLE coded AS
SELECT
  CAST((
    CASE CAST(class_value AS TEXT) COLLATE C WHEN 'high' THEN 0 WHEN 'low' THEN 1 END
  ) AS UTINYINT) AS class,
  CAST((
    CASE
      WHEN v0 IS NULL
      THEN 32
      ELSE LEAST(
        GREATEST(FLOOR((
          v0 - CAST('-50.0' AS DOUBLE)
        ) * 4 / CAST('25.0' AS DOUBLE)), 0),
        31
      )
    END
  ) AS USMALLINT) AS bin0,
  v0 AS value0,
  CAST((
    COALESCE(CASE CAST(v1 AS TEXT) COLLATE C WHEN 'clerk' THEN 0 WHEN 'it''s' THEN 1 END, 2)
  ) AS SMALLINT) AS code1
FROM (
  SELECT
    "s"."risk" AS class_value,
    CAST("s"."age" AS DOUBLE) AS v0,
    CAST("s"."job" AS TEXT) AS v1
  FROM "memory"."main"."people" AS s
  WHERE
    NOT "s"."risk" IS NULL
) AS v;

SELECT
  r.class * CAST(33 AS BIGINT) + r.bin0 AS bin,
  COUNT(*) AS n
FROM coded AS r
GROUP BY ALL;

CREATE TEMPORARY TABLE whole_bins AS
SELECT
  UNNEST(RANGE(r.first, r.last)) AS bin,
  r.cell
FROM (
  SELECT
    UNNEST(CAST([8, 19, 45, 49] AS BIGINT[])) AS first,
    UNNEST(CAST([12, 24, 49, 52] AS BIGINT[])) AS last,
    UNNEST(CAST([0, 3, 1, 2] AS USMALLINT[])) AS cell
) AS r;

CREATE TEMPORARY TABLE divided_bins AS
SELECT
  UNNEST(CAST([] AS BIGINT[])) AS bin,
  UNNEST(CAST([] AS BIGINT[])) AS first,
  UNNEST(CAST([] AS BIGINT[])) AS last,
  UNNEST(CAST([] AS USMALLINT[])) AS cell;

CREATE TEMPORARY TABLE divided AS
SELECT
  r.id,
  b.cell
FROM (
  SELECT
    r.id,
    r.bin,
    ROW_NUMBER() OVER (PARTITION BY r.bin ORDER BY r.value, r.id) - 1 AS rank
  FROM (
    SELECT
      *
    FROM (
      SELECT
        r.rowid AS id,
        r.class * CAST(33 AS BIGINT) + r.bin0 AS bin,
        r.value0 AS value
      FROM coded AS r
    ) AS a
    WHERE
      a.bin IN (
        SELECT
          b.bin
        FROM divided_bins AS b
      )
  ) AS r
) AS r
JOIN divided_bins AS b
  ON b.bin = r.bin AND r.rank >= b.first AND r.rank < b.last;

DROP TABLE IF EXISTS divided_bins;

CREATE TEMPORARY TABLE records AS
SELECT
  CAST(0 AS INT) AS node,
  r.class,
  r.rowid AS id,
  CAST((
    CASE WHEN r.bin0 = 32 THEN 12 ELSE r.bin0 // 4 END
  ) AS USMALLINT) AS code0,
  COALESCE(d0.cell, w0.cell) AS cell0,
  r.code1
FROM coded AS r
JOIN whole_bins AS w0
  ON w0.bin = r.class * CAST(33 AS BIGINT) + r.bin0
LEFT JOIN divided AS d0
  ON d0.id = r.rowid;

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
  UNNEST(CAST([3] AS INT[])) AS cut,
  UNNEST(CAST([[]] AS INT[][])) AS categories,
  UNNEST(CAST([4] AS INT[])) AS nulls,
  UNNEST(CAST([TRUE] AS BOOLEAN[])) AS null_left,
  UNNEST(CAST([0] AS INT[])) AS left_node,
  UNNEST(CAST([NULL] AS INT[])) AS right_node,
  UNNEST(CAST([TRUE] AS BOOLEAN[])) AS left_settled,
  UNNEST(CAST([TRUE] AS BOOLEAN[])) AS right_settled,
  UNNEST(CAST([8] AS INT[])) AS settled_from,
  UNNEST(CAST([0] AS BIGINT[])) AS first_bin;

CREATE TEMPORARY TABLE whole_bins_2 AS
SELECT
  UNNEST(RANGE(r.first, r.last)) AS bin,
  r.cell
FROM (
  SELECT
    UNNEST(CAST([2, 4, 11, 12] AS BIGINT[])) AS first,
    UNNEST(CAST([3, 6, 12, 13] AS BIGINT[])) AS last,
    UNNEST(CAST([0, 3, 1, 2] AS USMALLINT[])) AS cell
) AS r;

CREATE TEMPORARY TABLE divided_bins_2 AS
SELECT
  UNNEST(CAST([] AS BIGINT[])) AS bin,
  UNNEST(CAST([] AS BIGINT[])) AS first,
  UNNEST(CAST([] AS BIGINT[])) AS last,
  UNNEST(CAST([] AS USMALLINT[])) AS cell;

CREATE TEMPORARY TABLE divided_2 AS
SELECT
  r.id,
  b.cell
FROM (
  SELECT
    r.id,
    r.bin,
    ROW_NUMBER() OVER (PARTITION BY r.bin ORDER BY CASE r.attribute WHEN 0 THEN v.value0 END, r.id) - 1 AS rank
  FROM (
    SELECT
      *
    FROM (
      SELECT
        id,
        bin,
        attribute
      FROM (
        SELECT
          *,
          CASE WHEN code < settled_from THEN first_bin + class * settled_from + code END AS bin
        FROM (
          SELECT
            r.*,
            s.*
            EXCLUDE (node),
            CASE s.attribute WHEN 0 THEN r.code0 WHEN 1 THEN r.code1 END AS code
          FROM records AS r
          JOIN splits AS s
            ON s.node = r.node
        ) AS j
      ) AS b
    ) AS a
    WHERE
      a.bin IN (
        SELECT
          b.bin
        FROM divided_bins_2 AS b
      )
  ) AS r
  JOIN coded AS v
    ON v.rowid = r.id
) AS r
JOIN divided_bins_2 AS b
  ON b.bin = r.bin AND r.rank >= b.first AND r.rank < b.last;

DROP TABLE IF EXISTS divided_bins_2;

CREATE TEMPORARY TABLE records_2 AS
SELECT
  CASE WHEN left_side THEN left_node ELSE right_node END AS node,
  class,
  id,
  CAST((
    CASE
      WHEN attribute = 0
      THEN CAST(8 AS USMALLINT) + cell
      WHEN CASE WHEN left_side THEN left_settled ELSE right_settled END AND code0 < 8
      THEN CAST(8 AS USMALLINT) + cell0
      ELSE code0
    END
  ) AS USMALLINT) AS code0,
  cell0,
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
      COALESCE(d.cell, w.cell, b.code - b.settled_from) AS cell
    FROM (
      SELECT
        *,
        CASE WHEN code < settled_from THEN first_bin + class * settled_from + code END AS bin
      FROM (
        SELECT
          r.*,
          s.*
          EXCLUDE (node),
          CASE s.attribute WHEN 0 THEN r.code0 WHEN 1 THEN r.code1 END AS code
        FROM records AS r
        JOIN splits AS s
          ON s.node = r.node
      ) AS j
    ) AS b
    LEFT JOIN whole_bins_2 AS w
      ON w.bin = b.bin
    LEFT JOIN divided_2 AS d
      ON d.id = b.id
  ) AS c
) AS p
WHERE
  NOT CASE WHEN left_side THEN left_node ELSE right_node END IS NULL;

DROP TABLE IF EXISTS records;

DROP TABLE IF EXISTS splits;

DROP TABLE IF EXISTS whole_bins_2;

DROP TABLE IF EXISTS divided_2;

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
  WHEN CAST("age" AS DOUBLE) >= CAST('75.0' AS DOUBLE)
  THEN 'high'
  WHEN CAST("age" AS DOUBLE) < CAST('25.0' AS DOUBLE)
  THEN 'high'
  ELSE 'low'
END AS TEXT);

COMMIT;
