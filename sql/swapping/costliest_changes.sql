-- costliest_changes | in: candidates | out: costliest_changes | grain: one row per category and place | params: first, second
-- Of two values: what the last change costs when the cheapest records of each change, so many of the first and of the second
-- (place 0), and what the next one would (place 1).
SELECT
    costs.kind,
    row_number() OVER (PARTITION BY costs.kind ORDER BY costs.cost)
    - CASE costs.kind WHEN 0 THEN param('first') ELSE param('second') END AS place,
    costs.cost
FROM (
    SELECT c.kind, c.true_posterior - CASE c.kind WHEN 0 THEN c.p1 ELSE c.p0 END AS cost
    FROM candidates AS c
    WHERE c.kind < 2
) AS costs
QUALIFY place BETWEEN 0 AND 1;
