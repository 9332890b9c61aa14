SELECT
  COUNT(*),
  COUNT("s"."id"),
  COUNT(DISTINCT "s"."id")
FROM "memory"."main"."people" AS s;

CREATE TEMPORARY TABLE noisy AS
SELECT
  x0,
  x1,
  x2,
  x3,
  k0,
  CAST(ROUND(x0 + CAST('20.0' AS DOUBLE) * drawn.d0) AS BIGINT) AS r0,
  ROUND(
    (
      x1 + CAST('500.0' AS DOUBLE) * (
        2 * drawn.d1 - 1
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
    WHEN drawn.d2 < CAST('0.5' AS DOUBLE)
    THEN x3
    ELSE ['clerk', 'it''s'][1 + CAST(LEAST(FLOOR((
      drawn.d2 - CAST('0.5' AS DOUBLE)
    ) * CAST('4.0' AS DOUBLE)), 1) AS BIGINT)]
  END AS TEXT) AS r3
FROM (
  SELECT
    *,
    CASE
      WHEN ABS(q0) <= 0.425e0
      THEN q0 * (
        (
          (
            (
              (
                (
                  (
                    2.5090809287301226727e3 * r0 + 3.3430575583588128105e4
                  ) * r0 + 6.7265770927008700853e4
                ) * r0 + 4.5921953931549871457e4
              ) * r0 + 1.3731693765509461125e4
            ) * r0 + 1.9715909503065514427e3
          ) * r0 + 1.3314166789178437745e2
        ) * r0 + 3.3871328727963666080e0
      ) / (
        (
          (
            (
              (
                (
                  (
                    5.2264952788528545610e3 * r0 + 2.8729085735721942674e4
                  ) * r0 + 3.9307895800092710610e4
                ) * r0 + 2.1213794301586595867e4
              ) * r0 + 5.3941960214247511077e3
            ) * r0 + 6.8718700749205790830e2
          ) * r0 + 4.2313330701600911252e1
        ) * r0 + 1e0
      )
      WHEN r0 <= 3.4e0
      THEN SIGN(q0) * (
        (
          (
            (
              (
                (
                  (
                    7.74545014278341407640e-4 * r0 + 2.27238449892691845833e-2
                  ) * r0 + 2.41780725177450611770e-1
                ) * r0 + 1.27045825245236838258e0
              ) * r0 + 3.64784832476320460504e0
            ) * r0 + 5.76949722146069140550e0
          ) * r0 + 4.63033784615654529590e0
        ) * r0 + 1.42343711074968357734e0
      ) / (
        (
          (
            (
              (
                (
                  (
                    1.05075007164441684324e-9 * r0 + 5.47593808499534494600e-4
                  ) * r0 + 1.51986665636164571966e-2
                ) * r0 + 1.48103976427480074590e-1
              ) * r0 + 6.89767334985100004550e-1
            ) * r0 + 1.67638483018380384940e0
          ) * r0 + 2.05319162663775882187e0
        ) * r0 + 1e0
      )
      ELSE SIGN(q0) * (
        (
          (
            (
              (
                (
                  (
                    2.01033439929228813265e-7 * (
                      r0 - 3.4e0
                    ) + 2.71155556874348757815e-5
                  ) * (
                    r0 - 3.4e0
                  ) + 1.24266094738807843860e-3
                ) * (
                  r0 - 3.4e0
                ) + 2.65321895265761230930e-2
              ) * (
                r0 - 3.4e0
              ) + 2.96560571828504891230e-1
            ) * (
              r0 - 3.4e0
            ) + 1.78482653991729133580e0
          ) * (
            r0 - 3.4e0
          ) + 5.46378491116411436990e0
        ) * (
          r0 - 3.4e0
        ) + 6.65790464350110377720e0
      ) / (
        (
          (
            (
              (
                (
                  (
                    2.04426310338993978564e-15 * (
                      r0 - 3.4e0
                    ) + 1.42151175831644588870e-7
                  ) * (
                    r0 - 3.4e0
                  ) + 1.84631831751005468180e-5
                ) * (
                  r0 - 3.4e0
                ) + 7.86869131145613259100e-4
              ) * (
                r0 - 3.4e0
              ) + 1.48753612908506148525e-2
            ) * (
              r0 - 3.4e0
            ) + 1.36929880922735805310e-1
          ) * (
            r0 - 3.4e0
          ) + 5.99832206555887937690e-1
        ) * (
          r0 - 3.4e0
        ) + 1e0
      )
    END AS d0,
    CASE
      WHEN ABS(q1) <= 0.425e0
      THEN q1 * (
        (
          (
            (
              (
                (
                  (
                    2.5090809287301226727e3 * r1 + 3.3430575583588128105e4
                  ) * r1 + 6.7265770927008700853e4
                ) * r1 + 4.5921953931549871457e4
              ) * r1 + 1.3731693765509461125e4
            ) * r1 + 1.9715909503065514427e3
          ) * r1 + 1.3314166789178437745e2
        ) * r1 + 3.3871328727963666080e0
      ) / (
        (
          (
            (
              (
                (
                  (
                    5.2264952788528545610e3 * r1 + 2.8729085735721942674e4
                  ) * r1 + 3.9307895800092710610e4
                ) * r1 + 2.1213794301586595867e4
              ) * r1 + 5.3941960214247511077e3
            ) * r1 + 6.8718700749205790830e2
          ) * r1 + 4.2313330701600911252e1
        ) * r1 + 1e0
      )
      WHEN r1 <= 3.4e0
      THEN SIGN(q1) * (
        (
          (
            (
              (
                (
                  (
                    7.74545014278341407640e-4 * r1 + 2.27238449892691845833e-2
                  ) * r1 + 2.41780725177450611770e-1
                ) * r1 + 1.27045825245236838258e0
              ) * r1 + 3.64784832476320460504e0
            ) * r1 + 5.76949722146069140550e0
          ) * r1 + 4.63033784615654529590e0
        ) * r1 + 1.42343711074968357734e0
      ) / (
        (
          (
            (
              (
                (
                  (
                    1.05075007164441684324e-9 * r1 + 5.47593808499534494600e-4
                  ) * r1 + 1.51986665636164571966e-2
                ) * r1 + 1.48103976427480074590e-1
              ) * r1 + 6.89767334985100004550e-1
            ) * r1 + 1.67638483018380384940e0
          ) * r1 + 2.05319162663775882187e0
        ) * r1 + 1e0
      )
      ELSE SIGN(q1) * (
        (
          (
            (
              (
                (
                  (
                    2.01033439929228813265e-7 * (
                      r1 - 3.4e0
                    ) + 2.71155556874348757815e-5
                  ) * (
                    r1 - 3.4e0
                  ) + 1.24266094738807843860e-3
                ) * (
                  r1 - 3.4e0
                ) + 2.65321895265761230930e-2
              ) * (
                r1 - 3.4e0
              ) + 2.96560571828504891230e-1
            ) * (
              r1 - 3.4e0
            ) + 1.78482653991729133580e0
          ) * (
            r1 - 3.4e0
          ) + 5.46378491116411436990e0
        ) * (
          r1 - 3.4e0
        ) + 6.65790464350110377720e0
      ) / (
        (
          (
            (
              (
                (
                  (
                    2.04426310338993978564e-15 * (
                      r1 - 3.4e0
                    ) + 1.42151175831644588870e-7
                  ) * (
                    r1 - 3.4e0
                  ) + 1.84631831751005468180e-5
                ) * (
                  r1 - 3.4e0
                ) + 7.86869131145613259100e-4
              ) * (
                r1 - 3.4e0
              ) + 1.48753612908506148525e-2
            ) * (
              r1 - 3.4e0
            ) + 1.36929880922735805310e-1
          ) * (
            r1 - 3.4e0
          ) + 5.99832206555887937690e-1
        ) * (
          r1 - 3.4e0
        ) + 1e0
      )
    END AS d1,
    q2 + 0.5e0 AS d2
  FROM (
    SELECT
      *,
      CASE
        WHEN ABS(q0) <= 0.425e0
        THEN 0.180625e0 - q0 * q0
        ELSE SQRT(-LN(0.5e0 - ABS(q0))) - 1.6e0
      END AS r0,
      CASE
        WHEN ABS(q1) <= 0.425e0
        THEN 0.180625e0 - q1 * q1
        ELSE SQRT(-LN(0.5e0 - ABS(q1))) - 1.6e0
      END AS r1
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
          SHA256(k.k0 || CAST("s"."id" AS TEXT)) AS h0
        FROM "memory"."main"."people" AS s
        CROSS JOIN keys AS k
      ) AS hashed
    ) AS centred
  ) AS centred
) AS drawn;

SELECT
  0 AS attribute,
  CASE WHEN NOT ISNAN(value) THEN CAST(GREATEST(LEAST(value, 10), -1) AS INT) END AS cell,
  CAST(SUM(records) AS BIGINT) AS records
FROM (
  SELECT
    FLOOR((
      CAST("s"."x0" AS DOUBLE) - CAST('-0.5' AS DOUBLE)
    ) / CAST('11.0' AS DOUBLE)) AS value,
    COUNT(*) AS records
  FROM noisy AS s
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  1 AS attribute,
  CASE WHEN NOT ISNAN(value) THEN CAST(GREATEST(LEAST(value, 10), -1) AS INT) END AS cell,
  CAST(SUM(records) AS BIGINT) AS records
FROM (
  SELECT
    FLOOR((
      CAST("s"."x1" AS DOUBLE) - CAST('0.0' AS DOUBLE)
    ) / CAST('12.1' AS DOUBLE)) AS value,
    COUNT(*) AS records
  FROM noisy AS s
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  2 AS attribute,
  CASE
    WHEN NOT value IS NULL
    THEN CAST((
      COALESCE(LIST_POSITION(['[0, 1)', '[1, 3)', '[3, 5]'], value), 0) - 1
    ) AS INT)
  END AS cell,
  CAST(SUM(records) AS BIGINT) AS records
FROM (
  SELECT
    CAST("s"."r2" AS TEXT) AS value,
    COUNT(*) AS records
  FROM noisy AS s
  GROUP BY ALL
) AS counted
GROUP BY ALL
UNION ALL
SELECT
  3 AS attribute,
  CASE
    WHEN NOT value IS NULL
    THEN CAST((
      COALESCE(LIST_POSITION(['clerk', 'it''s'], value), 0) - 1
    ) AS INT)
  END AS cell,
  CAST(SUM(records) AS BIGINT) AS records
FROM (
  SELECT
    CAST("s"."x3" AS TEXT) AS value,
    COUNT(*) AS records
  FROM noisy AS s
  GROUP BY ALL
) AS counted
GROUP BY ALL;
