-- Run this first to use the step files in the DuckDB shell: .read sql/00_macros.sql
-- Then set what a step asks for: SET VARIABLE k = 5; SET VARIABLE qi = ['Sex', 'Job'];
-- A parameter that is not set is an error: comparing with NULL would let every audit pass.
CREATE OR REPLACE TEMP MACRO param(name) AS
    coalesce(getvariable(name), error('missing parameter, run: SET VARIABLE ' || name || ' = ...;'));
