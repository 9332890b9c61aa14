-- intruders | in: after, departed_persons, added | out: intruders | grain: one row | params: version INTEGER
-- How many records of a version are not in the one before though their cohorts are no newer than its number, and how
-- many of newer cohorts are those of persons who left before.
SELECT
    (SELECT count(*) FROM added AS d WHERE d.record_cohort <= param('version')) AS added,
    count(*) AS returned
FROM after AS a
WHERE a.record_cohort > param('version')
    AND a.record_person IN (SELECT d.record_person FROM departed_persons AS d);
