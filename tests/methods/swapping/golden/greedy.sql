CREATE TEMPORARY TABLE ties AS
SELECT
  w0,
  kind,
  reduced_cost_0,
  reduced_cost_1,
  reduced_cost_2,
  reduced_cost_stay,
  DENSE_RANK() OVER (ORDER BY kind, reduced_cost_0, reduced_cost_1, reduced_cost_2, reduced_cost_stay) - 1 AS class
FROM (
  SELECT
    w0,
    kind,
    CASE
      WHEN worth_0 + CAST(50000000000000 AS BIGINT) >= lowest
      THEN (
        best - worth_0
      )
      ELSE -1
    END AS reduced_cost_0,
    CASE
      WHEN worth_1 + CAST(50000000000000 AS BIGINT) >= lowest
      THEN (
        best - worth_1
      )
      ELSE -1
    END AS reduced_cost_1,
    CASE
      WHEN worth_2 + CAST(50000000000000 AS BIGINT) >= lowest
      THEN (
        best - worth_2
      )
      ELSE -1
    END AS reduced_cost_2,
    CASE
      WHEN worth_stay + (
        CAST([
          50000000000000,
          50000000000000,
          50000000000000,
          50000000000000,
          50000000000000,
          50000000000000
        ] AS BIGINT[])
      )[kind + 1] >= lowest
      THEN (
        best - worth_stay
      )
      ELSE -1
    END AS reduced_cost_stay,
    unchanged - best AS cost
  FROM (
    SELECT
      *,
      GREATEST(worth_0, worth_1, worth_2, worth_stay) AS best,
      GREATEST(
        worth_0 - CAST(50000000000000 AS BIGINT),
        worth_1 - CAST(50000000000000 AS BIGINT),
        worth_2 - CAST(50000000000000 AS BIGINT),
        worth_stay - (
          CAST([
            50000000000000,
            50000000000000,
            50000000000000,
            50000000000000,
            50000000000000,
            50000000000000
          ] AS BIGINT[])
        )[kind + 1]
      ) AS lowest
    FROM (
      SELECT
        *,
        CASE WHEN kind % 3 = 0 THEN -2000000000000000 ELSE p0 + CAST(0 AS BIGINT) END AS worth_0,
        CASE WHEN kind % 3 = 1 THEN -2000000000000000 ELSE p1 + CAST(0 AS BIGINT) END AS worth_1,
        CASE WHEN kind % 3 = 2 THEN -2000000000000000 ELSE p2 + CAST(0 AS BIGINT) END AS worth_2,
        true_posterior + (
          CAST([0, 0, 0, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
        )[kind + 1] AS worth_stay,
        true_posterior + (
          CAST([0, 0, 0, 0, 0, 0] AS BIGINT[])
        )[kind + 1] AS unchanged
      FROM candidates
    )
  )
);

SELECT
  class,
  COUNT(*) AS n,
  ANY_VALUE(kind) AS kind,
  ANY_VALUE(reduced_cost_0) AS reduced_cost_0,
  ANY_VALUE(reduced_cost_1) AS reduced_cost_1,
  ANY_VALUE(reduced_cost_2) AS reduced_cost_2,
  ANY_VALUE(reduced_cost_stay) AS reduced_cost_stay
FROM ties
GROUP BY
  class
ORDER BY
  class;

CREATE TEMPORARY TABLE chosen AS
SELECT
  w0,
  q.category
FROM (
  SELECT
    w0,
    class,
    ROW_NUMBER() OVER (PARTITION BY class ORDER BY MD5(CONCAT_WS(',', '73tie', w0)), w0) AS place
  FROM ties
) AS t
JOIN (
  SELECT
    UNNEST(CAST([0] AS BIGINT[])) AS class,
    UNNEST(CAST([1] AS BIGINT[])) AS category,
    UNNEST(CAST([1] AS BIGINT[])) AS last,
    UNNEST(CAST([1] AS BIGINT[])) AS records
) AS q
  ON q.class = t.class AND t.place <= q.last AND t.place > q.last - q.records;

CREATE TEMPORARY TABLE moves AS
SELECT
  w0,
  kind,
  category,
  COUNT(*) AS records,
  CAST(SUM(cost) AS BIGINT) AS cost
FROM (
  SELECT
    w0,
    kind,
    CAST(category AS USMALLINT) AS category,
    CAST((
      true_posterior - CASE category WHEN 0 THEN p0 WHEN 1 THEN p1 WHEN 2 THEN p2 END
    ) AS BIGINT) AS cost
  FROM (
    SELECT
      w0,
      true_posterior,
      p0,
      p1,
      p2,
      kind,
      CASE
        WHEN reduced_cost_0 = 0
        THEN 0
        WHEN reduced_cost_1 = 0
        THEN 1
        WHEN reduced_cost_2 = 0
        THEN 2
      END AS category
    FROM (
      SELECT
        w0,
        true_posterior,
        p0,
        p1,
        p2,
        kind,
        CASE
          WHEN worth_0 + CAST(0 AS BIGINT) >= lowest
          THEN (
            best - worth_0
          )
          ELSE -1
        END AS reduced_cost_0,
        CASE
          WHEN worth_1 + CAST(0 AS BIGINT) >= lowest
          THEN (
            best - worth_1
          )
          ELSE -1
        END AS reduced_cost_1,
        CASE
          WHEN worth_2 + CAST(0 AS BIGINT) >= lowest
          THEN (
            best - worth_2
          )
          ELSE -1
        END AS reduced_cost_2,
        CASE
          WHEN worth_stay + (
            CAST([0, 0, 0, 0, 0, 0] AS BIGINT[])
          )[kind + 1] >= lowest
          THEN (
            best - worth_stay
          )
          ELSE -1
        END AS reduced_cost_stay,
        unchanged - best AS cost
      FROM (
        SELECT
          *,
          GREATEST(worth_0, worth_1, worth_2, worth_stay) AS best,
          GREATEST(
            worth_0 - CAST(0 AS BIGINT),
            worth_1 - CAST(0 AS BIGINT),
            worth_2 - CAST(0 AS BIGINT),
            worth_stay - (
              CAST([0, 0, 0, 0, 0, 0] AS BIGINT[])
            )[kind + 1]
          ) AS lowest
        FROM (
          SELECT
            *,
            p0 + CAST(0 AS BIGINT) AS worth_0,
            p1 + CAST(0 AS BIGINT) AS worth_1,
            p2 + CAST(0 AS BIGINT) AS worth_2,
            true_posterior + (
              CAST([0, 0, 0, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
            )[kind + 1] AS worth_stay,
            true_posterior + (
              CAST([0, 0, 0, 0, 0, 0] AS BIGINT[])
            )[kind + 1] AS unchanged
          FROM candidates
        )
      )
    ) AS f
    ANTI JOIN ties
      USING (w0)
    WHERE
      reduced_cost_stay < 0
    UNION ALL
    SELECT
      w0,
      true_posterior,
      p0,
      p1,
      p2,
      kind,
      category
    FROM candidates
    JOIN chosen
      USING (w0)
  )
)
GROUP BY
  w0,
  kind,
  category;

DROP TABLE IF EXISTS chosen;

SELECT
  m.kind,
  m.category,
  CAST(SUM(m.records) AS BIGINT) AS records,
  CAST(SUM(m.cost) AS INT128) AS cost
FROM moves AS m
GROUP BY
  m.kind,
  m.category;

SELECT
  CAST(COALESCE(
    SUM(changed) FILTER(WHERE
      changed + 1 >= CAST(0.98 AS DOUBLE) * (
        records + 2
      )),
    0
  ) AS BIGINT),
  CAST(SUM(changed) AS BIGINT)
FROM (
  SELECT
    COUNT(*) AS records,
    COUNT(*) FILTER(WHERE
      changed) AS changed
  FROM (
    SELECT
      CASE WHEN kind = 0 THEN true_posterior ELSE p0 END AS posterior_0,
      CASE WHEN kind = 1 THEN true_posterior ELSE p1 END AS posterior_1,
      CASE WHEN kind = 2 THEN true_posterior ELSE p2 END AS posterior_2,
      COALESCE(m.category, u.kind) AS shown,
      NOT m.category IS NULL AS changed
    FROM candidates AS u
    LEFT JOIN (
      SELECT
        w0,
        category
      FROM moves
    ) AS m
      USING (w0)
    WHERE
      u.kind < 3 AND HASH(w0) % 1 = 0
  )
  GROUP BY
    shown,
    LIST_POSITION(
      [
        CASE WHEN shown = 0 THEN -1 ELSE posterior_0 END,
        CASE WHEN shown = 1 THEN -1 ELSE posterior_1 END,
        CASE WHEN shown = 2 THEN -1 ELSE posterior_2 END
      ],
      GREATEST(
        CASE WHEN shown = 0 THEN -1 ELSE posterior_0 END,
        CASE WHEN shown = 1 THEN -1 ELSE posterior_1 END,
        CASE WHEN shown = 2 THEN -1 ELSE posterior_2 END
      )
    ),
    (
      (
        CASE shown WHEN 0 THEN posterior_0 WHEN 1 THEN posterior_1 WHEN 2 THEN posterior_2 END - GREATEST(
          CASE WHEN shown = 0 THEN -1 ELSE posterior_0 END,
          CASE WHEN shown = 1 THEN -1 ELSE posterior_1 END,
          CASE WHEN shown = 2 THEN -1 ELSE posterior_2 END
        )
      ) * CAST(8 AS BIGINT) // 2000000000
    )
);

SELECT
  ANY_VALUE(TYPEOF(c3))
FROM atoms;

CREATE TEMPORARY TABLE swapped AS
SELECT
  r.c0,
  r.c1,
  r.c2,
  CAST(COALESCE(t.category, r.c3) AS USMALLINT) AS c3,
  CAST(COALESCE(LEAST(r.n, t.beyond) - t.first, r.n) AS BIGINT) AS n
FROM atoms AS r
LEFT JOIN (
  SELECT
    w0,
    category,
    SUM(records) OVER (PARTITION BY w0 ORDER BY category) - records AS first,
    SUM(records) OVER (PARTITION BY w0 ORDER BY category) AS beyond
  FROM moves
  UNION ALL
  SELECT
    w0,
    NULL,
    SUM(records),
    4611686018427387904
  FROM moves
  GROUP BY
    w0
) AS t
  ON t.w0 = CAST(r.c1 AS UBIGINT) * 1 + CAST(r.c2 AS UBIGINT) * 2 + CAST(r.c0 AS UBIGINT) * 4
  AND t.first < r.n;
