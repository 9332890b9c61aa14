-- insert_version | in: - | out: ppdm.versions | grain: one row | params: release, version, rows, entered, gone, waiting, shape
-- Records a version, with the shape by which its table is read once a newer one is in its place.
INSERT INTO ppdm.versions
SELECT
    $release AS release,
    $version AS version,
    $rows AS rows,
    $entered AS entered,
    $gone AS gone,
    $waiting AS waiting,
    $shape AS shape,
    now() AT TIME ZONE 'UTC' AS created_at;
