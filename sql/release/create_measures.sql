-- create_measures | in: - | out: ppdm.measures | grain: one row per release and measure | params: -
-- What was measured of a release, before and after.
CREATE TABLE IF NOT EXISTS ppdm.measures (
    release VARCHAR,
    measure VARCHAR,
    before DOUBLE,
    after DOUBLE
);
