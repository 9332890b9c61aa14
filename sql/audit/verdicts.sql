-- verdicts | in: judgements | out: verdicts | grain: one row per position | params: -
-- What the classes, judged one by one, say together. A class that violates a requirement for
-- several protected values counts once, in every row.
WITH violations AS (
    SELECT
        count(*) AS classes,
        CAST(coalesce(sum(v.class_records), 0) AS BIGINT) AS records
    FROM (
        SELECT DISTINCT
            j.class,
            j.class_records
        FROM judgements AS j
        WHERE j.violates
    ) AS v
)
SELECT
    j.position,
    min(j.reached) AS lowest,
    max(j.reached) AS highest,
    any_value(v.classes) AS violating_classes,
    any_value(v.records) AS violating_records
FROM judgements AS j
CROSS JOIN violations AS v
GROUP BY j.position
ORDER BY j.position;
