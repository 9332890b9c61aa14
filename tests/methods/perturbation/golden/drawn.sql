CREATE TEMPORARY TABLE persons AS
SELECT
  who AS person,
  MIN(x0) IS NOT DISTINCT FROM MAX(x0) AS same0,
  MIN(x1) IS NOT DISTINCT FROM MAX(x1) AS same1,
  MIN(x3) IS NOT DISTINCT FROM MAX(x3) AS same3
FROM (
  SELECT
    CAST("s"."age" AS DOUBLE) AS x0,
    CAST("s"."pay" AS DOUBLE) AS x1,
    CAST("s"."hours" AS DOUBLE) AS x2,
    CAST("s"."job" AS TEXT) AS x3,
    CAST("s"."who" AS TEXT) AS who
  FROM "memory"."main"."people" AS s
) AS rows
GROUP BY
  who;

CREATE TEMPORARY TABLE noisy AS
SELECT
  x0,
  x1,
  x2,
  x3,
  k0,
  who,
  CAST(ROUND(
    x0 + CAST('20.0' AS DOUBLE) * (
      2 * CASE WHEN p.same0 THEN p.d0 ELSE drawn.d0 END - 1
    )
  ) AS BIGINT) AS r0,
  ROUND(
    (
      x1 + CAST('500.0' AS DOUBLE) * (
        2 * CASE WHEN p.same1 THEN p.d1 ELSE drawn.d1 END - 1
      )
    ) / CAST('0.000244140625' AS DOUBLE)
  ) * CAST('0.000244140625' AS DOUBLE) + 0e0 AS r1,
  CASE
    WHEN x2 IS NULL
    THEN NULL
    WHEN x2 < CAST('1.0' AS DOUBLE)
    THEN '[0, 1)'
    WHEN x2 < CAST('3.0' AS DOUBLE)
    THEN '[1, 3)'
    ELSE '[3, 5]'
  END AS r2,
  CAST(CASE
    WHEN x3 IS NULL
    THEN NULL
    WHEN p.d2 < CAST('0.5' AS DOUBLE)
    THEN x3
    ELSE ['clerk', 'it''s'][1 + CAST(LEAST(FLOOR((
      p.d2 - CAST('0.5' AS DOUBLE)
    ) * CAST('4.0' AS DOUBLE)), 1) AS BIGINT)]
  END AS TEXT) AS r3
FROM (
  SELECT
    *,
    q0 + 0.5e0 AS d0,
    q1 + 0.5e0 AS d1,
    q2 + 0.5e0 AS d2
  FROM (
    SELECT
      *,
      (
        CAST('0x' || SUBSTRING(h0, 1, 13) AS BIGINT) - 2251799813685247.5e0
      ) * 2.220446049250313e-16 AS q0,
      (
        CAST('0x' || SUBSTRING(h0, 14, 13) AS BIGINT) - 2251799813685247.5e0
      ) * 2.220446049250313e-16 AS q1,
      (
        CAST('0x' || SUBSTRING(h0, 27, 13) AS BIGINT) - 2251799813685247.5e0
      ) * 2.220446049250313e-16 AS q2
    FROM (
      SELECT
        CAST("s"."age" AS DOUBLE) AS x0,
        CAST("s"."pay" AS DOUBLE) AS x1,
        CAST("s"."hours" AS DOUBLE) AS x2,
        CAST("s"."job" AS TEXT) AS x3,
        "s"."class" AS k0,
        CAST("s"."who" AS TEXT) AS who,
        SHA256(k.k0 || CAST("s"."id" AS TEXT)) AS h0
      FROM "memory"."main"."people" AS s
      CROSS JOIN keys AS k
    ) AS hashed
  ) AS centred
) AS drawn
JOIN (
  SELECT
    *,
    q0 + 0.5e0 AS d0,
    q1 + 0.5e0 AS d1,
    q2 + 0.5e0 AS d2
  FROM (
    SELECT
      *,
      (
        CAST('0x' || SUBSTRING(h0, 1, 13) AS BIGINT) - 2251799813685247.5e0
      ) * 2.220446049250313e-16 AS q0,
      (
        CAST('0x' || SUBSTRING(h0, 14, 13) AS BIGINT) - 2251799813685247.5e0
      ) * 2.220446049250313e-16 AS q1,
      (
        CAST('0x' || SUBSTRING(h0, 27, 13) AS BIGINT) - 2251799813685247.5e0
      ) * 2.220446049250313e-16 AS q2
    FROM (
      SELECT
        o.*,
        SHA256(k.p0 || o.person) AS h0
      FROM persons AS o
      CROSS JOIN keys AS k
    ) AS hashed
  ) AS centred
) AS p
  ON p.person = drawn.who;
