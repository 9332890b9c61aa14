-- insert_release | in: - | out: ppdm.releases | grain: one row | params: release, method, source, requirements, parameters, rows, stopped, version
-- Records how the release was made; as verified, since nothing is recorded that the audit refused.
-- The time is the transaction's, in UTC.
INSERT INTO ppdm.releases
SELECT
    $release AS release,
    $method AS method,
    $source AS source,
    CAST($requirements AS VARCHAR[]) AS requirements,
    CAST($parameters AS JSON) AS parameters,
    $rows AS rows,
    TRUE AS verified,
    $stopped AS stopped,
    make_timestamp(epoch_us(now())) AS created_at,
    $version AS version;
