-- messages | in: ppdm.transcripts | out: messages | grain: one row per kind and direction | params: release
-- The messages of a run of two parties, summed up in the order in which their kinds first crossed.
SELECT
    t.kind,
    t.direction,
    count(*) AS messages,
    CAST(sum(t.bytes) AS BIGINT) AS bytes,
    min(t.round) AS first_round,
    max(t.round) AS last_round
FROM ppdm.transcripts AS t
WHERE t.release = $release
GROUP BY t.kind, t.direction
ORDER BY min(t.number) ASC;
