-- unfinished_payload | in: ppdm.unfinished | out: unfinished_payload | grain: one row | params: release, number
-- What one message of a run that broke off held.
SELECT u.payload
FROM ppdm.unfinished AS u
WHERE u.release = $release
    AND u.number = $number;
