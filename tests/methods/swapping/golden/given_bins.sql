SELECT
  COALESCE(
    TRY_CAST('0' AS DOUBLE) < TRY_CAST('30' AS DOUBLE)
    AND TRY_CAST('30' AS DOUBLE) < TRY_CAST('60' AS DOUBLE),
    FALSE
  );

CREATE TEMPORARY TABLE labelled AS
SELECT
  d.code,
  CASE
    WHEN "d"."value" >= TRY_CAST('0' AS BIGINT) AND "d"."value" < TRY_CAST('30' AS BIGINT)
    THEN '[0, 30)'
    WHEN "d"."value" >= TRY_CAST('30' AS BIGINT)
    AND "d"."value" < TRY_CAST('60' AS BIGINT)
    THEN '[30, 60)'
  END AS label
FROM dictionary AS d;

CREATE TEMPORARY TABLE binned_codes AS
SELECT
  l.code,
  l.label,
  CAST(DENSE_RANK() OVER (ORDER BY LIST_POSITION(CAST(['[0, 30)', '[30, 60)'] AS TEXT[]), l.label)) - 1 AS USMALLINT) AS bin
FROM labelled AS l;

SELECT
  CAST(COALESCE(SUM(a.n), 0) AS BIGINT) AS records
FROM atoms AS a
JOIN binned_codes AS b
  ON b.code = "c1"
WHERE
  b.label IS NULL;

CREATE TEMPORARY TABLE discretized AS
SELECT
  a.c0,
  b.bin AS c1,
  CAST(SUM(a.n) AS BIGINT) AS n
FROM atoms AS a
JOIN binned_codes AS b
  ON b.code = a.c1
GROUP BY ALL;

CREATE TEMPORARY TABLE bins AS
SELECT DISTINCT
  b.label AS value,
  CAST(b.bin AS BIGINT) AS code
FROM binned_codes AS b;
