-- taxonomy | in: ppdm.taxonomies | out: taxonomy | grain: one row per node | params: release, attribute
-- The tree of a masked column.
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
WHERE t.release = $release
    AND t.attribute = $attribute
ORDER BY t.node ASC;
