SELECT
  COUNT(*),
  COUNT("s"."age"),
  COUNT(*) FILTER(WHERE
    NOT ISFINITE(CAST("s"."age" AS DOUBLE))),
  COUNT(*) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE))
    AND CAST("s"."age" AS DOUBLE) <> FLOOR(CAST("s"."age" AS DOUBLE))),
  MIN(CAST("s"."age" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE))),
  MAX(CAST("s"."age" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."age" AS DOUBLE))),
  COUNT("s"."pay"),
  COUNT(*) FILTER(WHERE
    NOT ISFINITE(CAST("s"."pay" AS DOUBLE))),
  COUNT(*) FILTER(WHERE
    ISFINITE(CAST("s"."pay" AS DOUBLE))
    AND CAST("s"."pay" AS DOUBLE) <> FLOOR(CAST("s"."pay" AS DOUBLE))),
  MIN(CAST("s"."pay" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."pay" AS DOUBLE))),
  MAX(CAST("s"."pay" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."pay" AS DOUBLE))),
  COUNT("s"."hours"),
  COUNT(*) FILTER(WHERE
    NOT ISFINITE(CAST("s"."hours" AS DOUBLE))),
  COUNT(*) FILTER(WHERE
    ISFINITE(CAST("s"."hours" AS DOUBLE))
    AND CAST("s"."hours" AS DOUBLE) <> FLOOR(CAST("s"."hours" AS DOUBLE))),
  MIN(CAST("s"."hours" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."hours" AS DOUBLE))),
  MAX(CAST("s"."hours" AS DOUBLE)) FILTER(WHERE
    ISFINITE(CAST("s"."hours" AS DOUBLE)))
FROM "memory"."main"."people" AS s;

SELECT
  MIN(v) FILTER(WHERE
    reached >= 4),
  MIN(v) FILTER(WHERE
    reached >= 8)
FROM (
  SELECT
    v,
    CAST(SUM(n) OVER (ORDER BY v) AS BIGINT) AS reached
  FROM (
    SELECT
      CAST("s"."hours" AS DOUBLE) AS v,
      COUNT(*) AS n
    FROM "memory"."main"."people" AS s
    WHERE
      NOT CAST("s"."hours" AS DOUBLE) IS NULL
    GROUP BY
      CAST("s"."hours" AS DOUBLE)
  ) AS g
) AS c;

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
LIMIT 1001;
