CREATE TEMPORARY VIEW rows_0 AS
SELECT
  "s"."age" AS "v0",
  CAST("s"."job" AS TEXT) AS "v1",
  CAST("s"."good" AS TEXT) AS label
FROM "memory"."main"."people" AS s;

CREATE TEMPORARY TABLE collapsed AS
SELECT
  "s"."v0" AS "v0",
  "s"."v1" AS "v1",
  "s"."label" AS "label",
  CAST(COUNT(*) AS BIGINT) AS records
FROM rows_0 AS s
GROUP BY ALL;

CREATE TEMPORARY VIEW rows_1 AS
SELECT
  "s"."age" AS "v0",
  CAST("s"."job" AS TEXT) AS "v1",
  CAST("s"."good" AS TEXT) AS label
FROM (
  SELECT
    "f"."age",
    "f"."job",
    "f"."good"
  FROM "ppdm"."release_safe" AS f
) AS s;

CREATE TEMPORARY TABLE collapsed_2 AS
SELECT
  "s"."v0" AS "v0",
  "s"."v1" AS "v1",
  "s"."label" AS "label",
  CAST(COUNT(*) AS BIGINT) AS records
FROM rows_1 AS s
GROUP BY ALL;

WITH original_counts AS (
  SELECT
    "v0",
    "label",
    SUM(o.records) AS records
  FROM collapsed AS o
  GROUP BY ALL
), released_counts AS (
  SELECT
    "v0",
    "label",
    SUM(r.records) AS records
  FROM collapsed_2 AS r
  GROUP BY ALL
)
SELECT
  COUNT(*) AS differences
FROM (
  (
    SELECT
      *
    FROM original_counts
    EXCEPT
    SELECT
      *
    FROM released_counts
  )
  UNION ALL
  (
    SELECT
      *
    FROM released_counts
    EXCEPT
    SELECT
      *
    FROM original_counts
  )
) AS d;

CREATE TEMPORARY TABLE feature_values AS
SELECT
  v.value,
  v.known,
  "v"."value" AS place
FROM (
  SELECT
    u.value,
    BOOL_OR(CAST(u.known AS BOOLEAN)) AS known
  FROM (
    SELECT
      "v0" AS value,
      TRUE AS known
    FROM collapsed
  ) AS u
  GROUP BY
    u.value
) AS v;

CREATE TEMPORARY TABLE ordinals AS
SELECT
  f.value,
  CASE
    WHEN NOT f.place IS NULL
    THEN CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE) + CASE WHEN f.known THEN 0 ELSE 0.5 END
    WHEN f.known
    THEN -CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE)
    ELSE 0
  END AS ordinal
FROM feature_values AS f
WINDOW in_order AS (
  PARTITION BY f.place IS NULL
  ORDER BY f.place, f.known DESC, f.value
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);

CREATE TEMPORARY TABLE feature_values_2 AS
SELECT
  v.value,
  v.known,
  NULL AS place
FROM (
  SELECT
    u.value,
    BOOL_OR(CAST(u.known AS BOOLEAN)) AS known
  FROM (
    SELECT
      "v1" AS value,
      TRUE AS known
    FROM collapsed
  ) AS u
  GROUP BY
    u.value
) AS v;

CREATE TEMPORARY TABLE ordinals_2 AS
SELECT
  f.value,
  CASE
    WHEN NOT f.place IS NULL
    THEN CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE) + CASE WHEN f.known THEN 0 ELSE 0.5 END
    WHEN f.known
    THEN -CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE)
    ELSE 0
  END AS ordinal
FROM feature_values_2 AS f
WINDOW in_order AS (
  PARTITION BY f.place IS NULL
  ORDER BY f.place, f.known DESC, f.value
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);

CREATE TEMPORARY TABLE feature_values_3 AS
SELECT
  v.value,
  v.known,
  NULL AS place
FROM (
  SELECT
    u.value,
    BOOL_OR(CAST(u.known AS BOOLEAN)) AS known
  FROM (
    SELECT
      "label" AS value,
      TRUE AS known
    FROM collapsed
  ) AS u
  GROUP BY
    u.value
) AS v;

CREATE TEMPORARY TABLE ordinals_3 AS
SELECT
  f.value,
  CASE
    WHEN NOT f.place IS NULL
    THEN CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE) + CASE WHEN f.known THEN 0 ELSE 0.5 END
    WHEN f.known
    THEN -CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE)
    ELSE 0
  END AS ordinal
FROM feature_values_3 AS f
WINDOW in_order AS (
  PARTITION BY f.place IS NULL
  ORDER BY f.place, f.known DESC, f.value
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);

CREATE TEMPORARY TABLE coded AS
SELECT
  ROW_NUMBER() OVER (ORDER BY "x0", "x1", "label") AS number,
  *
FROM (
  SELECT
    "o0"."ordinal" AS "x0",
    "o1"."ordinal" AS "x1",
    CAST((
      -"o2"."ordinal" - 1
    ) AS INT) AS label,
    CAST(SUM(r.records) AS BIGINT) AS records
  FROM collapsed AS r
  JOIN ordinals AS "o0"
    ON "r"."v0" IS NOT DISTINCT FROM "o0"."value"
  JOIN ordinals_2 AS "o1"
    ON "r"."v1" IS NOT DISTINCT FROM "o1"."value"
  JOIN ordinals_3 AS "o2"
    ON "r"."label" IS NOT DISTINCT FROM "o2"."value"
  GROUP BY ALL
) AS c;

CREATE TEMPORARY TABLE feature_values_4 AS
SELECT
  v.value,
  v.known,
  "v"."value" AS place
FROM (
  SELECT
    u.value,
    BOOL_OR(CAST(u.known AS BOOLEAN)) AS known
  FROM (
    SELECT
      "v0" AS value,
      TRUE AS known
    FROM collapsed_2
  ) AS u
  GROUP BY
    u.value
) AS v;

CREATE TEMPORARY TABLE ordinals_4 AS
SELECT
  f.value,
  CASE
    WHEN NOT f.place IS NULL
    THEN CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE) + CASE WHEN f.known THEN 0 ELSE 0.5 END
    WHEN f.known
    THEN -CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE)
    ELSE 0
  END AS ordinal
FROM feature_values_4 AS f
WINDOW in_order AS (
  PARTITION BY f.place IS NULL
  ORDER BY f.place, f.known DESC, f.value
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);

CREATE TEMPORARY TABLE feature_values_5 AS
SELECT
  v.value,
  v.known,
  NULL AS place
FROM (
  SELECT
    u.value,
    BOOL_OR(CAST(u.known AS BOOLEAN)) AS known
  FROM (
    SELECT
      "v1" AS value,
      TRUE AS known
    FROM collapsed_2
  ) AS u
  GROUP BY
    u.value
) AS v;

CREATE TEMPORARY TABLE ordinals_5 AS
SELECT
  f.value,
  CASE
    WHEN NOT f.place IS NULL
    THEN CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE) + CASE WHEN f.known THEN 0 ELSE 0.5 END
    WHEN f.known
    THEN -CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE)
    ELSE 0
  END AS ordinal
FROM feature_values_5 AS f
WINDOW in_order AS (
  PARTITION BY f.place IS NULL
  ORDER BY f.place, f.known DESC, f.value
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);

CREATE TEMPORARY TABLE feature_values_6 AS
SELECT
  v.value,
  v.known,
  NULL AS place
FROM (
  SELECT
    u.value,
    BOOL_OR(CAST(u.known AS BOOLEAN)) AS known
  FROM (
    SELECT
      "label" AS value,
      TRUE AS known
    FROM collapsed_2
  ) AS u
  GROUP BY
    u.value
) AS v;

CREATE TEMPORARY TABLE ordinals_6 AS
SELECT
  f.value,
  CASE
    WHEN NOT f.place IS NULL
    THEN CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE) + CASE WHEN f.known THEN 0 ELSE 0.5 END
    WHEN f.known
    THEN -CAST(SUM(CAST(f.known AS INT)) OVER in_order AS DOUBLE)
    ELSE 0
  END AS ordinal
FROM feature_values_6 AS f
WINDOW in_order AS (
  PARTITION BY f.place IS NULL
  ORDER BY f.place, f.known DESC, f.value
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);

CREATE TEMPORARY TABLE coded_2 AS
SELECT
  ROW_NUMBER() OVER (ORDER BY "x0", "x1", "label") AS number,
  *
FROM (
  SELECT
    "o0"."ordinal" AS "x0",
    "o1"."ordinal" AS "x1",
    CAST((
      -"o2"."ordinal" - 1
    ) AS INT) AS label,
    CAST(SUM(r.records) AS BIGINT) AS records
  FROM collapsed_2 AS r
  JOIN ordinals_4 AS "o0"
    ON "r"."v0" IS NOT DISTINCT FROM "o0"."value"
  JOIN ordinals_5 AS "o1"
    ON "r"."v1" IS NOT DISTINCT FROM "o1"."value"
  JOIN ordinals_6 AS "o2"
    ON "r"."label" IS NOT DISTINCT FROM "o2"."value"
  GROUP BY ALL
) AS c;

SELECT
  CAST(COALESCE(SUM(c.records), 0) AS BIGINT) AS records
FROM coded AS c;

WITH records AS (
  SELECT
    c.number,
    c.label,
    UNNEST(RANGE(0, c.records)) AS copy
  FROM coded AS c
), drawn AS (
  SELECT
    r.number,
    r.label,
    MD5(CONCAT_WS('/', 1, r.number, r.copy)) AS lot
  FROM records AS r
  ORDER BY
    lot,
    r.number,
    r.copy
  LIMIT 200000
), record_folds AS (
  SELECT
    d.number,
    ROW_NUMBER() OVER (ORDER BY d.label, d.lot, d.number) % 2 AS fold
  FROM drawn AS d
), fold_counts AS (
  SELECT
    f.number,
    f.fold,
    COUNT(*) AS records
  FROM record_folds AS f
  GROUP BY
    f.number,
    f.fold
)
SELECT
  "x0",
  "x1",
  c.label,
  f.fold,
  f.records
FROM fold_counts AS f
JOIN coded AS c
  ON f.number = c.number
ORDER BY
  f.number,
  f.fold;

WITH records AS (
  SELECT
    c.number,
    c.label,
    UNNEST(RANGE(0, c.records)) AS copy
  FROM coded_2 AS c
), drawn AS (
  SELECT
    r.number,
    r.label,
    MD5(CONCAT_WS('/', 1, r.number, r.copy)) AS lot
  FROM records AS r
  ORDER BY
    lot,
    r.number,
    r.copy
  LIMIT 200000
), record_folds AS (
  SELECT
    d.number,
    ROW_NUMBER() OVER (ORDER BY d.label, d.lot, d.number) % 2 AS fold
  FROM drawn AS d
), fold_counts AS (
  SELECT
    f.number,
    f.fold,
    COUNT(*) AS records
  FROM record_folds AS f
  GROUP BY
    f.number,
    f.fold
)
SELECT
  "x0",
  "x1",
  c.label,
  f.fold,
  f.records
FROM fold_counts AS f
JOIN coded_2 AS c
  ON f.number = c.number
ORDER BY
  f.number,
  f.fold;
