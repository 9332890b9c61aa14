-- flows | in: moves | out: flows | grain: one row per kind and new category | params: -
-- Records that move, and what that costs.
SELECT
    m.kind,
    m.category,
    CAST(sum(m.records) AS BIGINT) AS records,
    CAST(sum(m.cost) AS HUGEINT) AS cost
FROM moves AS m
GROUP BY m.kind, m.category;
