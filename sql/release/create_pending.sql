-- create_pending | in: - | out: ppdm.pending | grain: one row per folder or table that a run may leave behind | params: -
-- Where rows are being written outside of the database, or removed there: what a killed process left is found by it.
CREATE TABLE IF NOT EXISTS ppdm.pending (
    token VARCHAR,
    kind VARCHAR,
    target VARCHAR,
    purpose VARCHAR,
    made_at TIMESTAMP
);
