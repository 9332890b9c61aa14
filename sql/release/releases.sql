-- releases | in: ppdm.releases | out: releases | grain: one row per release | params: -
-- What is recorded of each release.
SELECT
    r.release,
    r.method,
    r.source,
    r.requirements,
    CAST(r.parameters AS VARCHAR) AS parameters,
    r.rows,
    r.verified,
    r.stopped,
    r.created_at,
    r.version
FROM ppdm.releases AS r
ORDER BY r.created_at ASC, r.release ASC;
