-- insert_messages | in: - | out: messages | grain: one row per message | params: release, number, round, direction, kind, bytes, digest, crossed_at, payload
-- Records messages that crossed during a run.
INSERT INTO messages
SELECT
    $release AS release,
    unnest(CAST($number AS INTEGER[])) AS number,
    unnest(CAST($round AS INTEGER[])) AS round,
    unnest(CAST($direction AS VARCHAR[])) AS direction,
    unnest(CAST($kind AS VARCHAR[])) AS kind,
    unnest(CAST($bytes AS BIGINT[])) AS bytes,
    unnest(CAST($digest AS VARCHAR[])) AS digest,
    unnest(CAST($crossed_at AS TIMESTAMP[])) AS crossed_at,
    unnest(CAST($payload AS BLOB[])) AS payload;
