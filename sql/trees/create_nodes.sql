-- create_nodes | in: - | out: ppdm.nodes | grain: one row per model and node | params: -
-- Numbers below the cut and the categories listed go left. Counts are training records by class, aggregates of the source.
CREATE TABLE IF NOT EXISTS ppdm.nodes (
    model VARCHAR,
    node INTEGER,
    parent INTEGER,
    side VARCHAR,
    depth INTEGER,
    attribute VARCHAR,
    cut DOUBLE,
    categories VARCHAR[],
    null_left BOOLEAN,
    counts BIGINT[],
    predicted VARCHAR
);
