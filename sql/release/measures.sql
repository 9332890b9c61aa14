-- measures | in: ppdm.measures | out: measures | grain: one row per measure | params: release
-- What was measured of the release.
SELECT
    m.measure,
    m.before,
    m.after
FROM ppdm.measures AS m
WHERE m.release = $release;
