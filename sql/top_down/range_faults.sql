-- range_faults | in: dictionary | out: range_faults | grain: one row | params: lower VARCHAR, upper VARCHAR
-- Whether the bounds of a range are values of the column's type, in order, and how many values lie outside.
WITH typed_bounds AS (
    SELECT
        TRY(cast_to_type($lower, t.value)) AS lower,
        TRY(cast_to_type($upper, t.value)) AS upper
    FROM (SELECT 1 AS one)
    LEFT JOIN dictionary AS t
        ON FALSE
)
SELECT
    coalesce(min(b.lower) < min(b.upper), FALSE) AS usable,
    count(*) FILTER (d.value < b.lower OR d.value >= b.upper) AS outside
FROM typed_bounds AS b
LEFT JOIN dictionary AS d
    ON d.value IS NOT NULL;
