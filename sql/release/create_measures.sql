-- create_measures | in: - | out: ppdm.measures | grain: one row per release and measure | params: -
CREATE TABLE IF NOT EXISTS ppdm.measures (
    release VARCHAR,
    measure VARCHAR,
    before DOUBLE,
    after DOUBLE
);
