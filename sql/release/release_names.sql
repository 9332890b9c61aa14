-- release_names | in: ppdm.releases | out: release_names | grain: one row per release | params: -
-- The names of the releases.
SELECT r.release
FROM ppdm.releases AS r;
