-- arrivals | in: today, last_version, departed_persons | out: arrivals | grain: one row per record | params: version INTEGER
-- The records of today that stay, in their cohorts, and the new ones in that of this version; of these those are gone
-- whose person left before.
SELECT
    t.* REPLACE (CAST(coalesce(l.record_cohort, param('version')) AS UINTEGER) AS record_cohort),
    l.record_cohort IS NULL
    AND t.record_person IN (SELECT d.record_person FROM departed_persons AS d) AS record_gone
FROM today AS t
LEFT JOIN last_version AS l
    ON l.record_person = t.record_person
    AND l.record_digest = t.record_digest
    AND l.record_copy = t.record_copy
WHERE l.record_cohort IS NULL
    OR NOT l.record_gone;
