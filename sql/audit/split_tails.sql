-- split_tails | in: bins, values_to_label | out: split_tails | grain: one row | params: bottom VARCHAR, top VARCHAR
-- How many labels tell values of a tail apart: an interval that begins or ends inside it. NULL stands for no tail.
SELECT count(*) FILTER (
    coalesce(b.lower, b.least) > t.top
    OR coalesce(b.upper, b.most) > t.top
    OR (b.closed AND coalesce(b.upper, b.most) = t.top)
    OR coalesce(b.lower, b.least) <= t.bottom
    OR coalesce(b.upper, b.most) < t.bottom
    OR (NOT b.closed AND coalesce(b.upper, b.most) = t.bottom)
) AS labels
FROM bins AS b
CROSS JOIN (
    SELECT
        TRY(cast_to_type($bottom, v.value)) AS bottom,
        TRY(cast_to_type($top, v.value)) AS top
    FROM (SELECT 1 AS one)
    LEFT JOIN values_to_label AS v
        ON FALSE
) AS t;
