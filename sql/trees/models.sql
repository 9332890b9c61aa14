-- models | in: ppdm.models | out: models | grain: one row per model | params: -
-- What is recorded of each model.
SELECT
    m.model,
    m.mode,
    m.source,
    m.class,
    m.classes,
    m.rows,
    CAST(m.parameters AS VARCHAR) AS parameters,
    m.test,
    m.confusion,
    m.created_at,
    m.version
FROM ppdm.models AS m
ORDER BY m.created_at ASC, m.model ASC;
