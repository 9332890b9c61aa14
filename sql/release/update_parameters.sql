-- update_parameters | in: - | out: ppdm.releases | grain: one row | params: release, parameters
-- Keeps what became known of a release after it was published, such as what was exported.
UPDATE ppdm.releases
SET
    parameters = CAST($parameters AS JSON)
WHERE release = $release;
