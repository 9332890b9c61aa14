SELECT
  c3 AS a,
  CAST(SUM(n) AS BIGINT) AS n
FROM atoms
GROUP BY ALL;

CREATE TEMPORARY TABLE pack_counts AS
SELECT
  0 AS pack,
  CAST(c1 AS UBIGINT) * 1 + CAST(c2 AS UBIGINT) * 2 + CAST(c0 AS UBIGINT) * 4 AS code,
  c3 AS category,
  CAST(SUM(n) AS BIGINT) AS n
FROM atoms
GROUP BY ALL;

CREATE TEMPORARY TABLE conditionals AS
SELECT
  attribute,
  v,
  (
    SUM(CASE WHEN category = 0 THEN n ELSE 0 END) + CAST(0.5 AS DOUBLE)
  ) / (
    CAST(6 AS DOUBLE) + CAST(0.5 AS DOUBLE) * CASE attribute WHEN 1 THEN 2 WHEN 2 THEN 2 WHEN 0 THEN 3 END
  ) AS likelihood_0,
  (
    SUM(CASE WHEN category = 1 THEN n ELSE 0 END) + CAST(0.5 AS DOUBLE)
  ) / (
    CAST(4 AS DOUBLE) + CAST(0.5 AS DOUBLE) * CASE attribute WHEN 1 THEN 2 WHEN 2 THEN 2 WHEN 0 THEN 3 END
  ) AS likelihood_1,
  (
    SUM(CASE WHEN category = 2 THEN n ELSE 0 END) + CAST(0.5 AS DOUBLE)
  ) / (
    CAST(6 AS DOUBLE) + CAST(0.5 AS DOUBLE) * CASE attribute WHEN 1 THEN 2 WHEN 2 THEN 2 WHEN 0 THEN 3 END
  ) AS likelihood_2
FROM (
  SELECT
    1 AS attribute,
    code // 1 % 2 AS v,
    category,
    n
  FROM pack_counts
  WHERE
    pack = 0
  UNION ALL
  SELECT
    2 AS attribute,
    code // 2 % 2 AS v,
    category,
    n
  FROM pack_counts
  WHERE
    pack = 0
  UNION ALL
  SELECT
    0 AS attribute,
    code // 4 % 3 AS v,
    category,
    n
  FROM pack_counts
  WHERE
    pack = 0
)
GROUP BY
  attribute,
  v;

DROP TABLE IF EXISTS pack_counts;

CREATE TEMPORARY TABLE lookup AS
SELECT
  CAST(code AS UBIGINT) AS code,
  likelihood_0 / largest AS likelihood_0,
  likelihood_1 / largest AS likelihood_1,
  likelihood_2 / largest AS likelihood_2
FROM (
  SELECT
    *,
    GREATEST(likelihood_0, likelihood_1, likelihood_2) AS largest
  FROM (
    SELECT
      p.code,
      a0.likelihood_0 * a1.likelihood_0 * a2.likelihood_0 AS likelihood_0,
      a0.likelihood_1 * a1.likelihood_1 * a2.likelihood_1 AS likelihood_1,
      a0.likelihood_2 * a1.likelihood_2 * a2.likelihood_2 AS likelihood_2
    FROM RANGE(0, 12) AS p(code)
    JOIN (
      SELECT
        *
      FROM conditionals
      WHERE
        attribute = 1
    ) AS a0
      ON a0.v = p.code // 1 % 2
    JOIN (
      SELECT
        *
      FROM conditionals
      WHERE
        attribute = 2
    ) AS a1
      ON a1.v = p.code // 2 % 2
    JOIN (
      SELECT
        *
      FROM conditionals
      WHERE
        attribute = 0
    ) AS a2
      ON a2.v = p.code // 4 % 3
  )
);

CREATE TEMPORARY TABLE candidates AS
SELECT
  w0,
  member,
  CAST((
    category + CASE WHEN records > 1 THEN 3 ELSE 0 END
  ) AS USMALLINT) AS kind,
  CAST(CASE category WHEN 0 THEN plain_0 WHEN 1 THEN plain_1 WHEN 2 THEN plain_2 END AS INT) AS true_posterior,
  CAST(CASE
    WHEN category = 0
    THEN -1000000000000000
    ELSE plain_0 - ROUND(
      CAST(0.25 AS DOUBLE) * 1e9 * LN(
        -LN(
          (
            (
              CAST((
                '0x' || SUBSTRING(MD5(CONCAT_WS(',', '73blur0', w0, member)), 1, 13)
              ) AS BIGINT) + CAST(0.5 AS DOUBLE)
            ) / CAST(4503599627370496.0 AS DOUBLE)
          )
        )
      )
    )
  END AS BIGINT) AS p0,
  CAST(CASE
    WHEN category = 1
    THEN -1000000000000000
    ELSE plain_1 - ROUND(
      CAST(0.25 AS DOUBLE) * 1e9 * LN(
        -LN(
          (
            (
              CAST((
                '0x' || SUBSTRING(MD5(CONCAT_WS(',', '73blur1', w0, member)), 1, 13)
              ) AS BIGINT) + CAST(0.5 AS DOUBLE)
            ) / CAST(4503599627370496.0 AS DOUBLE)
          )
        )
      )
    )
  END AS BIGINT) AS p1,
  CAST(CASE
    WHEN category = 2
    THEN -1000000000000000
    ELSE plain_2 - ROUND(
      CAST(0.25 AS DOUBLE) * 1e9 * LN(
        -LN(
          (
            (
              CAST((
                '0x' || SUBSTRING(MD5(CONCAT_WS(',', '73blur2', w0, member)), 1, 13)
              ) AS BIGINT) + CAST(0.5 AS DOUBLE)
            ) / CAST(4503599627370496.0 AS DOUBLE)
          )
        )
      )
    )
  END AS BIGINT) AS p2,
  CAST(plain_0 AS INT) AS unblurred_0,
  CAST(plain_1 AS INT) AS unblurred_1,
  CAST(plain_2 AS INT) AS unblurred_2
FROM (
  SELECT
    *,
    UNNEST(RANGE(0, wanted)) AS member
  FROM (
    SELECT
      *,
      ROUND(likelihood_0 / total * 1e9) AS plain_0,
      ROUND(likelihood_1 / total * 1e9) AS plain_1,
      ROUND(likelihood_2 / total * 1e9) AS plain_2
    FROM (
      SELECT
        *,
        likelihood_0 + likelihood_1 + likelihood_2 AS total
      FROM (
        SELECT
          i.w0,
          CASE
            WHEN records = 1
            THEN 1
            ELSE LEAST(GREATEST(1, (
              2 * records + 2
            ) // 4), records - 1)
          END AS wanted,
          i.category,
          i.records,
          l0.likelihood_0 * CAST(6 AS DOUBLE) AS likelihood_0,
          l0.likelihood_1 * CAST(4 AS DOUBLE) AS likelihood_1,
          l0.likelihood_2 * CAST(6 AS DOUBLE) AS likelihood_2
        FROM identifiable AS i
        LEFT JOIN lookup AS l0
          ON l0.code = (
            i.w0 // CAST(1 AS UBIGINT)
          ) % CAST(12 AS UBIGINT)
      )
    )
  )
);

DROP TABLE IF EXISTS conditionals;

DROP TABLE IF EXISTS lookup;

SELECT
  c.kind,
  COUNT(*) AS records
FROM candidates AS c
GROUP BY
  c.kind;
