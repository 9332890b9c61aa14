-- version_records | in: arrivals, ready_records | out: version_records | grain: one row per record | params: version INTEGER
-- The records of the new version: those that stay, and of the new ones those that are ready to enter.
SELECT a.*
FROM arrivals AS a
WHERE NOT a.record_gone
    AND (
        a.record_cohort < param('version')
        OR EXISTS (
            SELECT 1
            FROM ready_records AS r
            WHERE r.record_person = a.record_person
                AND r.record_digest = a.record_digest
        )
    );
