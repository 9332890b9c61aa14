-- create_cuts | in: - | out: ppdm.cuts | grain: one row per release, attribute and value | params: -
-- What each value of the source became in a release: the owner's, never exported.
CREATE TABLE IF NOT EXISTS ppdm.cuts (
    release VARCHAR,
    attribute VARCHAR,
    value VARCHAR,
    generalized VARCHAR
);
