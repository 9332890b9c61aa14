-- steps | in: ppdm.steps | out: steps | grain: one row per step | params: release
-- The steps of the run that made the release.
SELECT
    s.step,
    s.attribute,
    s.parent,
    s.children,
    s.score,
    s.gain,
    s.loss
FROM ppdm.steps AS s
WHERE s.release = $release
ORDER BY s.step ASC, s.attribute ASC;
