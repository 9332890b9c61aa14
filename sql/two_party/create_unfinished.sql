-- create_unfinished | in: - | out: ppdm.unfinished | grain: one row per message of a run | params: -
-- A run that is under way or broke off: what was received, so that --resume can go on. Removed at the end of the run.
CREATE TABLE IF NOT EXISTS ppdm.unfinished (
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
