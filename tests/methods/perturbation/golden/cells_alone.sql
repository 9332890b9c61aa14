CREATE TEMPORARY TABLE noisy AS
SELECT
  x0,
  CASE
    WHEN x0 IS NULL
    THEN NULL
    WHEN x0 < CAST('1.0' AS DOUBLE)
    THEN '[0, 1)'
    WHEN x0 < CAST('3.0' AS DOUBLE)
    THEN '[1, 3)'
    ELSE '[3, 5]'
  END AS r0
FROM (
  SELECT
    CAST("s"."hours" AS DOUBLE) AS x0
  FROM "memory"."main"."people" AS s
) AS drawn;
