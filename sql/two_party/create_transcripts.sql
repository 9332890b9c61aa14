-- create_transcripts | in: - | out: ppdm.transcripts | grain: one row per message of a run | params: -
-- What crossed the line in the runs of the releases. The payload is kept of messages that hold no value a record.
CREATE TABLE IF NOT EXISTS ppdm.transcripts (
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
