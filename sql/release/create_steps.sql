-- create_steps | in: - | out: ppdm.steps | grain: one row per release and step | params: -
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
