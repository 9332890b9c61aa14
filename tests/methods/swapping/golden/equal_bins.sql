CREATE TEMPORARY TABLE value_counts AS
SELECT
  d.value,
  CAST(SUM(a.n) AS BIGINT) AS records
FROM atoms AS a
JOIN dictionary AS d
  ON d.code = "c1"
GROUP BY
  d.value;

CREATE TEMPORARY TABLE quantiles AS
WITH sized_values AS (
  SELECT
    v.value,
    v.records,
    v.records * 2 >= SUM(v.records) OVER () AS is_heavy
  FROM value_counts AS v
), running_values AS (
  SELECT
    z.value,
    z.is_heavy,
    SUM(CAST(z.is_heavy AS INT)) OVER (ORDER BY z.value ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS heavy_so_far,
    SUM(z.records) OVER (PARTITION BY z.is_heavy ORDER BY z.value) - z.records AS records_before,
    SUM(z.records) OVER (PARTITION BY z.is_heavy) AS records,
    GREATEST(2 - SUM(CAST(z.is_heavy AS INT)) OVER (), 1) AS runs
  FROM sized_values AS z
)
SELECT
  MIN(r.value) AS lower,
  MAX(r.value) AS upper
FROM running_values AS r
GROUP BY
  r.heavy_so_far,
  r.is_heavy,
  CASE WHEN NOT r.is_heavy THEN r.records_before * r.runs // r.records END;

SELECT
  CAST(q.lower AS TEXT) AS lower,
  CAST(q.upper AS TEXT) AS upper,
  CAST(LAG(q.upper) OVER (ORDER BY q.lower) AS TEXT) AS upper_before
FROM quantiles AS q
ORDER BY
  q.lower;

CREATE TEMPORARY TABLE labelled AS
SELECT
  d.code,
  CASE
    WHEN "d"."value" >= TRY_CAST('0' AS BIGINT) AND "d"."value" < TRY_CAST('30' AS BIGINT)
    THEN '[0, 30)'
    WHEN "d"."value" >= TRY_CAST('30' AS BIGINT)
    AND "d"."value" <= TRY_CAST('59' AS BIGINT)
    THEN '[30, 59]'
  END AS label
FROM dictionary AS d;

CREATE TEMPORARY TABLE binned_codes AS
SELECT
  l.code,
  l.label,
  CAST(DENSE_RANK() OVER (ORDER BY LIST_POSITION(CAST(['[0, 30)', '[30, 59]'] AS TEXT[]), l.label)) - 1 AS USMALLINT) AS bin
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
