-- insert_measures | in: - | out: ppdm.measures | grain: one row per measure | params: release, measures, before, after
-- Records what was measured before and after.
INSERT INTO ppdm.measures
SELECT
    $release AS release,
    unnest(CAST($measures AS VARCHAR[])) AS measure,
    unnest(CAST($before AS DOUBLE[])) AS before,
    unnest(CAST($after AS DOUBLE[])) AS after;
