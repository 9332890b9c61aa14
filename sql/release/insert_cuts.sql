-- insert_cuts | in: run_cuts | out: ppdm.cuts | grain: one row per attribute and value | params: release
-- Records what became of each value.
INSERT INTO ppdm.cuts
SELECT
    $release AS release,
    r.attribute,
    r.value,
    r.generalized
FROM run_cuts AS r;
