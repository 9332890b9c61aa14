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
    SUM(CASE WHEN category = 0 THEN n ELSE 0 END) + CAST(0.0 AS DOUBLE)
  ) / (
    CAST(6 AS DOUBLE)
  ) AS likelihood_0,
  (
    SUM(CASE WHEN category = 1 THEN n ELSE 0 END) + CAST(0.0 AS DOUBLE)
  ) / (
    CAST(4 AS DOUBLE)
  ) AS likelihood_1,
  (
    SUM(CASE WHEN category = 2 THEN n ELSE 0 END) + CAST(0.0 AS DOUBLE)
  ) / (
    CAST(6 AS DOUBLE)
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
  CAST((
    category + CASE WHEN records > 1 THEN 3 ELSE 0 END
  ) AS USMALLINT) AS kind,
  CAST(CASE category WHEN 0 THEN plain_0 WHEN 1 THEN plain_1 WHEN 2 THEN plain_2 END AS INT) AS true_posterior,
  CAST(CASE WHEN category = 0 THEN -2000000000 ELSE plain_0 END AS INT) AS p0,
  CAST(CASE WHEN category = 1 THEN -2000000000 ELSE plain_1 END AS INT) AS p1,
  CAST(CASE WHEN category = 2 THEN -2000000000 ELSE plain_2 END AS INT) AS p2
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
        1 AS wanted,
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
);

DROP TABLE IF EXISTS conditionals;

DROP TABLE IF EXISTS lookup;
