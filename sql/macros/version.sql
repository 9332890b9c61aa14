-- version | in: - | out: ppdm_version | grain: - | params: version VARCHAR
-- SELECT ppdm_version() AS version
-- The version of ppdm-sql that put the macros into this file.
CREATE OR REPLACE MACRO ppdm_version() AS param('version');
