-- versions | in: ppdm.versions | out: versions | grain: one row per version | params: release
-- The versions of a release, oldest first.
SELECT
    v.version,
    v.rows,
    v.entered,
    v.gone,
    v.waiting,
    CAST(v.shape AS VARCHAR) AS shape,
    v.created_at
FROM ppdm.versions AS v
WHERE v.release = $release
ORDER BY v.version ASC;
