-- key_faults | in: records | out: key_faults | grain: one row | params: -
-- How many records there are, how many have no key, and how many share theirs with the one before.
-- The records stand in the order of their keys.
SELECT
    count(*) AS records,
    count(*) - count(k.key) AS missing,
    count(*) FILTER (k.repeated) AS repeated
FROM (
    SELECT
        r.key,
        r.key = lag(r.key) OVER () AS repeated
    FROM records AS r
) AS k;
