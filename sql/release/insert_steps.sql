-- insert_steps | in: run_steps | out: ppdm.steps | grain: one row per step | params: release
-- Records the steps of the run, in their order.
INSERT INTO ppdm.steps
SELECT
    $release AS release,
    r.step,
    r.attribute,
    r.parent,
    r.children,
    r.score,
    r.gain,
    r.loss
FROM run_steps AS r
ORDER BY r.step ASC;
