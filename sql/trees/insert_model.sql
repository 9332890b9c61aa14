-- insert_model | in: - | out: ppdm.models | grain: one row | params: model, mode, source, class, classes, rows, parameters, test, confusion, version
-- Records how the tree was trained. The time is the transaction's, in UTC.
INSERT INTO ppdm.models
SELECT
    $model AS model,
    $mode AS mode,
    $source AS source,
    $class AS class,
    CAST($classes AS VARCHAR[]) AS classes,
    $rows AS rows,
    CAST($parameters AS JSON) AS parameters,
    $test AS test,
    CAST($confusion AS BIGINT[][]) AS confusion,
    make_timestamp(epoch_us(now())) AS created_at,
    $version AS version;
