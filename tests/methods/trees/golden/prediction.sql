SELECT
  actual,
  predicted,
  COUNT(*) AS records
FROM (
  SELECT
    CAST("s"."risk" AS TEXT) COLLATE C AS actual,
    CASE WHEN CAST("s"."job" AS TEXT) COLLATE C IN ('clerk') THEN 0 ELSE 1 END AS predicted
  FROM "memory"."main"."people" AS s
) AS r
GROUP BY
  actual,
  predicted;

BEGIN;

CREATE TABLE "memory"."main"."predicted" AS
SELECT
  "s"."age",
  "s"."job",
  "s"."risk",
  CAST(CASE WHEN CAST("s"."job" AS TEXT) COLLATE C IN ('clerk') THEN 'high' ELSE 'low' END AS TEXT) AS "predicted"
FROM "memory"."main"."people" AS s;

SELECT
  CAST("predicted" AS TEXT) AS class,
  COUNT(*) AS records
FROM "memory"."main"."predicted"
GROUP BY ALL
ORDER BY
  ALL;

COMMIT;
