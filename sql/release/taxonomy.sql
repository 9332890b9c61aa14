-- taxonomy | in: ppdm.taxonomies | out: taxonomy | grain: one row per attribute and node | params: release, attribute
-- The tree of a masked column; without one the nodes of all columns that the release shows, and all above them.
WITH RECURSIVE above AS (
    SELECT
        t.attribute,
        t.node,
        t.parent
    FROM ppdm.taxonomies AS t
    WHERE t.release = $release
        AND t.shown
    UNION
    SELECT
        p.attribute,
        p.node,
        p.parent
    FROM above AS a
    JOIN ppdm.taxonomies AS p
        ON p.release = $release
        AND p.attribute = a.attribute
        AND p.node = a.parent
)
SELECT
    t.attribute,
    t.node,
    t.parent,
    t.label,
    t.lower,
    t.upper,
    t.closed,
    t.shown
FROM ppdm.taxonomies AS t
LEFT JOIN above AS a
    ON a.attribute = t.attribute
    AND a.node = t.node
WHERE t.release = $release
    AND coalesce(t.attribute = $attribute, a.node IS NOT NULL)
ORDER BY t.attribute ASC, t.node ASC;
