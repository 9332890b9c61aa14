-- create_cuts | in: - | out: ppdm.cuts | grain: one row per release, attribute and value | params: -
-- Holds values of the source: the owner's, never exported.
CREATE TABLE IF NOT EXISTS ppdm.cuts (
    release VARCHAR,
    attribute VARCHAR,
    value VARCHAR,
    generalized VARCHAR
);
