-- create_messages | in: - | out: messages | grain: one row per message of a run | params: -
-- Makes the table of what crossed the line in runs with a partner: of an unfinished one, or of those of the releases.
CREATE TABLE IF NOT EXISTS messages (
    release VARCHAR,
    number INTEGER,
    round INTEGER,
    direction VARCHAR,
    kind VARCHAR,
    bytes BIGINT,
    digest VARCHAR,
    crossed_at TIMESTAMP,
    payload BLOB
);
