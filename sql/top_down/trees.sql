-- trees | in: labels | out: trees | grain: one row per attribute and node | params: attribute INTEGER[], key BIGINT[], node INTEGER[], parent INTEGER[], shown BOOLEAN[], names VARCHAR[]
-- The trees of the masked attributes, numbered so that each node comes before its children; shown marks the cut.
SELECT
    CAST($names AS VARCHAR[])[m.attribute + 1] AS attribute,
    m.node,
    m.parent,
    l.label,
    l.lower,
    l.upper,
    l.closed,
    m.shown
FROM (
    SELECT
        unnest(CAST($attribute AS INTEGER[])) AS attribute,
        unnest(CAST($key AS BIGINT[])) AS key,
        unnest(CAST($node AS INTEGER[])) AS node,
        unnest(CAST($parent AS INTEGER[])) AS parent,
        unnest(CAST($shown AS BOOLEAN[])) AS shown
) AS m
JOIN labels AS l
    ON l.attribute = m.attribute
    AND l.node = m.key;
