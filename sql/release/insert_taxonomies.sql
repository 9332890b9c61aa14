-- insert_taxonomies | in: run_taxonomies | out: ppdm.taxonomies | grain: one row per attribute and node | params: release
-- Records the trees of the masked columns.
INSERT INTO ppdm.taxonomies
SELECT
    $release AS release,
    r.attribute,
    r.node,
    r.parent,
    r.label,
    r.lower,
    r.upper,
    r.closed,
    r.shown
FROM run_taxonomies AS r
ORDER BY r.attribute ASC, r.node ASC;
