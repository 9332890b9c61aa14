-- transcript | in: ppdm.transcripts | out: transcript | grain: one row per message | params: release
-- The messages of the run, in the order in which they crossed.
SELECT
    t.number,
    t.round,
    t.direction,
    t.kind,
    t.bytes,
    t.digest,
    t.crossed_at,
    t.payload
FROM ppdm.transcripts AS t
WHERE t.release = $release
ORDER BY t.number ASC;
