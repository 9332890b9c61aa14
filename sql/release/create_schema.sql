-- create_schema | in: - | out: ppdm | grain: - | params: -
-- Holds the frozen rows of releases and what is known of them.
CREATE SCHEMA IF NOT EXISTS ppdm;
