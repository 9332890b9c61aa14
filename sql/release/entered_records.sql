-- entered_records | in: today, version_rows | out: entered_records | grain: one row per record | params: -
-- The records of today that are in a version: of equal records as many as the version has.
SELECT t.* EXCLUDE (record_person, record_digest, record_cohort, record_copy)
FROM (
    SELECT
        s.*,
        row_number() OVER (PARTITION BY s.record_person, s.record_digest) AS record_copy
    FROM today AS s
) AS t
JOIN (
    SELECT
        r.record_person,
        r.record_digest,
        count(*) AS copies
    FROM version_rows AS r
    GROUP BY ALL
) AS v
    ON v.record_person = t.record_person
    AND v.record_digest = t.record_digest
    AND v.copies >= t.record_copy;
