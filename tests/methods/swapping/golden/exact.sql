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
    unchanged - best AS cost
  FROM (
    SELECT
      *,
      GREATEST(worth_0, worth_1, worth_2, worth_stay) AS best,
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
        p0 + CAST(10 AS BIGINT) AS worth_0,
        p1 + CAST(0 AS BIGINT) AS worth_1,
        p2 + -CAST(20 AS BIGINT) AS worth_2,
        true_posterior + (
          CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
        )[kind + 1] AS worth_stay,
        true_posterior + (
          CAST([-290, -200, -120, 10, 0, -20] AS BIGINT[])
        )[kind + 1] AS unchanged
      FROM candidates
    )
  )
)
GROUP BY ALL
ORDER BY
  ALL;

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
      WHEN worth_0 + CAST(500 AS BIGINT) >= lowest
      THEN (
        best - worth_0
      )
      ELSE -1
    END AS reduced_cost_0,
    CASE
      WHEN worth_1 + CAST(500 AS BIGINT) >= lowest
      THEN (
        best - worth_1
      )
      ELSE -1
    END AS reduced_cost_1,
    CASE
      WHEN worth_2 + CAST(500 AS BIGINT) >= lowest
      THEN (
        best - worth_2
      )
      ELSE -1
    END AS reduced_cost_2,
    CASE
      WHEN worth_stay + (
        CAST([500, 500, 500, 500, 500, 500] AS BIGINT[])
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
        p0 + CAST(10 AS BIGINT) AS worth_0,
        p1 + CAST(0 AS BIGINT) AS worth_1,
        p2 + -CAST(20 AS BIGINT) AS worth_2,
        true_posterior + (
          CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
        )[kind + 1] AS worth_stay,
        true_posterior + (
          CAST([-290, -200, -120, 10, 0, -20] AS BIGINT[])
        )[kind + 1] AS unchanged
      FROM candidates
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
            p0 + CAST(10 AS BIGINT) AS worth_0,
            p1 + CAST(0 AS BIGINT) AS worth_1,
            p2 + -CAST(20 AS BIGINT) AS worth_2,
            true_posterior + (
              CAST([-290, -200, -120, -2000000000000000, -2000000000000000, -2000000000000000] AS BIGINT[])
            )[kind + 1] AS worth_stay,
            true_posterior + (
              CAST([-290, -200, -120, 10, 0, -20] AS BIGINT[])
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
