SELECT
  COUNT(*),
  AVG("y0"),
  AVG("y1"),
  COVAR_POP("y0", "y0"),
  COVAR_POP("y0", "y1"),
  COVAR_POP("y1", "y1")
FROM (
  SELECT
    CASE WHEN ISFINITE(CAST("age" AS DOUBLE)) THEN CAST("age" AS DOUBLE) END AS "y0",
    CASE WHEN ISFINITE(CAST("pay" AS DOUBLE)) THEN CAST("pay" AS DOUBLE) END AS "y1"
  FROM "memory"."main"."people" AS s
) AS v;
