-- create_messages | in: - | out: messages | grain: one row per message of a run | params: -
-- Makes the table of what crossed the line in the runs that made releases with a partner.
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
