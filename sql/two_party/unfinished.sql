-- unfinished | in: ppdm.unfinished | out: unfinished | grain: one row per message | params: release
-- The messages of a run that broke off, without what they held.
SELECT
    u.number,
    u.round,
    u.direction,
    u.kind,
    u.bytes,
    u.digest,
    u.crossed_at
FROM ppdm.unfinished AS u
WHERE u.release = $release
ORDER BY u.number ASC;
