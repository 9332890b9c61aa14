-- verdicts | in: judgements | out: verdicts | grain: one row per requirement and position | params: -
-- What the classes, judged one by one, say together. A class that violates a requirement for
-- several protected values counts once, in every row of the requirement.
WITH violations AS (
    SELECT
        v.requirement,
        count(*) AS classes,
        CAST(sum(v.class_records) AS BIGINT) AS records
    FROM (
        SELECT DISTINCT
            j.requirement,
            j.class,
            j.class_records
        FROM judgements AS j
        WHERE j.violates
    ) AS v
    GROUP BY v.requirement
)
SELECT
    j.requirement,
    j.position,
    min(j.reached) AS lowest,
    max(j.reached) AS highest,
    coalesce(any_value(v.classes), 0) AS violating_classes,
    coalesce(any_value(v.records), 0) AS violating_records
FROM judgements AS j
LEFT JOIN violations AS v
    ON j.requirement = v.requirement
GROUP BY j.requirement, j.position
ORDER BY j.requirement, j.position;
