-- departed | in: before, after | out: departed | grain: one row per record | params: -
-- The rows of a version that the next one does not have; of equal records as many as there are fewer.
SELECT b.*
FROM (
    SELECT
        r.*,
        row_number() OVER (PARTITION BY r.record_person, r.record_digest, r.record_cohort) AS record_copy
    FROM before AS r
) AS b
LEFT JOIN (
    SELECT
        s.record_person,
        s.record_digest,
        s.record_cohort,
        count(*) AS record_copies
    FROM after AS s
    GROUP BY ALL
) AS a
    ON a.record_person = b.record_person
    AND a.record_digest = b.record_digest
    AND a.record_cohort = b.record_cohort
WHERE b.record_copy > coalesce(a.record_copies, 0);
