SELECT
  kind,
  reduced_cost_0,
  reduced_cost_1,
  reduced_cost_2,
  reduced_cost_stay,
  COUNT(*) AS n,
  CAST(SUM(cost) AS BIGINT) AS cost
FROM (
  SELECT
    kind,
    CASE
      WHEN worth_0 + CAST(80 AS BIGINT) >= lowest
      THEN (
        best - worth_0
      ) // 10
      ELSE -1
    END AS reduced_cost_0,
    CASE
      WHEN worth_1 + CAST(80 AS BIGINT) >= lowest
      THEN (
        best - worth_1
      ) // 10
      ELSE -1
    END AS reduced_cost_1,
    CASE
      WHEN worth_2 + CAST(80 AS BIGINT) >= lowest
      THEN (
        best - worth_2
      ) // 10
      ELSE -1
    END AS reduced_cost_2,
    CASE
      WHEN worth_stay + (
        CAST([80, 80, 80, 80, 80, 80] AS BIGINT[])
      )[kind + 1] >= lowest
      THEN (
        best - worth_stay
      ) // (
        CAST([10, 10, 10, 10, 10, 10] AS BIGINT[])
      )[kind + 1]
      ELSE -1
    END AS reduced_cost_stay,
    CASE
      WHEN kind < 3
      THEN worth_stay
      ELSE true_posterior + (
        CAST([10, 0, -20, 10, 0, -20] AS BIGINT[])
      )[kind + 1]
    END - best AS cost
  FROM (
    SELECT
      *,
      GREATEST(best_entry, worth_stay) AS best,
      GREATEST(
        worth_0 - CAST(80 AS BIGINT),
        worth_1 - CAST(80 AS BIGINT),
        worth_2 - CAST(80 AS BIGINT),
        worth_stay - (
          CAST([80, 80, 80, 80, 80, 80] AS BIGINT[])
        )[kind + 1]
      ) AS lowest
    FROM (
      SELECT
        *,
        GREATEST(worth_0, worth_1, worth_2) AS best_entry
      FROM (
        SELECT
          kind,
          true_posterior,
          p0 + CAST(10 AS BIGINT) AS worth_0,
          p1 + CAST(0 AS BIGINT) AS worth_1,
          p2 + -CAST(20 AS BIGINT) AS worth_2,
          true_posterior + (
            CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
          )[kind + 1] AS worth_stay
        FROM candidates
      )
    )
  )
)
GROUP BY ALL;

CREATE TEMPORARY TABLE free AS
SELECT
  w0,
  kind,
  true_posterior,
  p0,
  p1,
  p2
FROM (
  SELECT
    *,
    GREATEST(
      worth_0 - CAST(100000000 AS BIGINT),
      worth_1 - CAST(100000000 AS BIGINT),
      worth_2 - CAST(100000000 AS BIGINT),
      worth_stay - (
        CAST([100000000, 100000000, 100000000, 100000000, 100000000, 100000000] AS BIGINT[])
      )[kind + 1]
    ) AS lowest
  FROM (
    SELECT
      *,
      GREATEST(worth_0, worth_1, worth_2) AS best_entry
    FROM (
      SELECT
        w0,
        kind,
        true_posterior,
        p0,
        p1,
        p2,
        p0 + CAST(10 AS BIGINT) AS worth_0,
        p1 + CAST(0 AS BIGINT) AS worth_1,
        p2 + -CAST(20 AS BIGINT) AS worth_2,
        true_posterior + (
          CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
        )[kind + 1] AS worth_stay
      FROM candidates
    )
  )
)
WHERE
  CAST((
    worth_0 + CAST(100000000 AS BIGINT) >= lowest
  ) AS INT) + CAST((
    worth_1 + CAST(100000000 AS BIGINT) >= lowest
  ) AS INT) + CAST((
    worth_2 + CAST(100000000 AS BIGINT) >= lowest
  ) AS INT) + CAST((
    worth_stay + (
      CAST([100000000, 100000000, 100000000, 100000000, 100000000, 100000000] AS BIGINT[])
    )[kind + 1] >= lowest
  ) AS INT) > 1;

SELECT
  kind,
  CASE best_entry WHEN worth_0 THEN 0 WHEN worth_1 THEN 1 ELSE 2 END AS category,
  COUNT(*),
  CAST((
    SUM(true_posterior) - SUM(best_entry)
  ) AS INT128)
FROM (
  SELECT
    *,
    GREATEST(
      worth_0 - CAST(100000000 AS BIGINT),
      worth_1 - CAST(100000000 AS BIGINT),
      worth_2 - CAST(100000000 AS BIGINT),
      worth_stay - (
        CAST([100000000, 100000000, 100000000, 100000000, 100000000, 100000000] AS BIGINT[])
      )[kind + 1]
    ) AS lowest
  FROM (
    SELECT
      *,
      GREATEST(worth_0, worth_1, worth_2) AS best_entry
    FROM (
      SELECT
        w0,
        kind,
        true_posterior,
        p0,
        p1,
        p2,
        p0 + CAST(10 AS BIGINT) AS worth_0,
        p1 + CAST(0 AS BIGINT) AS worth_1,
        p2 + -CAST(20 AS BIGINT) AS worth_2,
        true_posterior + (
          CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
        )[kind + 1] AS worth_stay
      FROM candidates
    )
  )
)
WHERE
  best_entry > worth_stay
  AND NOT (
    CAST((
      worth_0 + CAST(100000000 AS BIGINT) >= lowest
    ) AS INT) + CAST((
      worth_1 + CAST(100000000 AS BIGINT) >= lowest
    ) AS INT) + CAST((
      worth_2 + CAST(100000000 AS BIGINT) >= lowest
    ) AS INT) + CAST((
      worth_stay + (
        CAST([100000000, 100000000, 100000000, 100000000, 100000000, 100000000] AS BIGINT[])
      )[kind + 1] >= lowest
    ) AS INT) > 1
  )
GROUP BY
  1,
  2;

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
    CASE WHEN worth_0 + CAST(500 AS BIGINT) >= lowest THEN best - worth_0 ELSE -1 END AS reduced_cost_0,
    CASE WHEN worth_1 + CAST(500 AS BIGINT) >= lowest THEN best - worth_1 ELSE -1 END AS reduced_cost_1,
    CASE WHEN worth_2 + CAST(500 AS BIGINT) >= lowest THEN best - worth_2 ELSE -1 END AS reduced_cost_2,
    CASE
      WHEN worth_stay + (
        CAST([500, 500, 500, 500, 500, 500] AS BIGINT[])
      )[kind + 1] >= lowest
      THEN best - worth_stay
      ELSE -1
    END AS reduced_cost_stay,
    CASE
      WHEN kind < 3
      THEN worth_stay
      ELSE true_posterior + (
        CAST([10, 0, -20, 10, 0, -20] AS BIGINT[])
      )[kind + 1]
    END - best AS cost
  FROM (
    SELECT
      *,
      GREATEST(best_entry, worth_stay) AS best,
      GREATEST(
        worth_0 - CAST(500 AS BIGINT),
        worth_1 - CAST(500 AS BIGINT),
        worth_2 - CAST(500 AS BIGINT),
        worth_stay - (
          CAST([500, 500, 500, 500, 500, 500] AS BIGINT[])
        )[kind + 1]
      ) AS lowest
    FROM (
      SELECT
        *,
        GREATEST(worth_0, worth_1, worth_2) AS best_entry
      FROM (
        SELECT
          w0,
          kind,
          true_posterior,
          p0 + CAST(10 AS BIGINT) AS worth_0,
          p1 + CAST(0 AS BIGINT) AS worth_1,
          p2 + -CAST(20 AS BIGINT) AS worth_2,
          true_posterior + (
            CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
          )[kind + 1] AS worth_stay
        FROM free
      )
    )
  )
)
WHERE
  CAST((
    reduced_cost_0 >= 0
  ) AS INT) + CAST((
    reduced_cost_1 >= 0
  ) AS INT) + CAST((
    reduced_cost_2 >= 0
  ) AS INT) + CAST((
    reduced_cost_stay >= 0
  ) AS INT) > 1;

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
  CAST(1 AS BIGINT) AS records,
  cost
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
      kind,
      true_posterior,
      p0,
      p1,
      p2,
      CASE best_entry WHEN worth_0 THEN 0 WHEN worth_1 THEN 1 ELSE 2 END AS category
    FROM (
      SELECT
        *,
        GREATEST(worth_0, worth_1, worth_2) AS best_entry
      FROM (
        SELECT
          w0,
          kind,
          true_posterior,
          p0,
          p1,
          p2,
          p0 + CAST(10 AS BIGINT) AS worth_0,
          p1 + CAST(0 AS BIGINT) AS worth_1,
          p2 + -CAST(20 AS BIGINT) AS worth_2,
          true_posterior + (
            CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
          )[kind + 1] AS worth_stay
        FROM candidates
      )
    ) AS f
    ANTI JOIN ties
      USING (w0)
    WHERE
      best_entry > worth_stay
    UNION ALL
    SELECT
      w0,
      kind,
      true_posterior,
      p0,
      p1,
      p2,
      category
    FROM candidates
    JOIN chosen
      USING (w0)
  )
);

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
