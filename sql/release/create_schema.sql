-- create_schema | in: - | out: ppdm | grain: - | params: -
CREATE SCHEMA IF NOT EXISTS ppdm;
