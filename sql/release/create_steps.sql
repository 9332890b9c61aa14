-- create_steps | in: - | out: ppdm.steps | grain: one row per release and step | params: -
-- What each step of a run specialized, and why it was chosen.
CREATE TABLE IF NOT EXISTS ppdm.steps (
    release VARCHAR,
    step INTEGER,
    attribute VARCHAR,
    parent VARCHAR,
    children VARCHAR[],
    score DOUBLE,
    gain DOUBLE,
    loss DOUBLE
);
