-- refinements | in: mapped_values, ppdm.taxonomies | out: refinements | grain: one row per value that a candidate moves | params: release, attribute, suppressed BOOLEAN
-- Which refinement of the final cut, had it not been refused, would show something else for a value, and what: nodes of
-- the cut that have children are candidates, to be replaced by them; each suppressed value is one, to be disclosed alone.
WITH RECURSIVE below AS (
    SELECT
        n.node,
        n.node AS child,
        n.parent AS candidate
    FROM ppdm.taxonomies AS n
    JOIN ppdm.taxonomies AS p
        ON p.node = n.parent
    WHERE n.release = $release
        AND p.release = $release
        AND n.attribute = $attribute
        AND p.attribute = $attribute
        AND p.shown
        AND NOT $suppressed
    UNION ALL
    SELECT
        n.node,
        b.child,
        b.candidate
    FROM below AS b
    JOIN ppdm.taxonomies AS n
        ON n.parent = b.node
    WHERE n.release = $release
        AND n.attribute = $attribute
)
SELECT
    m.value,
    b.candidate,
    b.child
FROM mapped_values AS m
JOIN below AS b
    ON b.node = m.node
UNION ALL
SELECT
    m.value,
    row_number() OVER () AS candidate,
    1 AS child
FROM mapped_values AS m
WHERE $suppressed
    AND m.node IS NULL;
