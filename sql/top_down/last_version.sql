-- last_version | in: version_rows, today | out: last_version | grain: one row per record of the last version | params: -
-- The records of the last version, and whether each is gone: no record of today has its person and values. Of equal
-- records the newest are the first to be gone.
SELECT
    v.*,
    t.record_copy IS NULL AS record_gone
FROM (
    SELECT
        r.*,
        row_number() OVER (
            PARTITION BY r.record_person, r.record_digest
            ORDER BY r.record_cohort ASC
        ) AS record_copy
    FROM version_rows AS r
) AS v
LEFT JOIN today AS t
    ON t.record_person = v.record_person
    AND t.record_digest = v.record_digest
    AND t.record_copy = v.record_copy;
