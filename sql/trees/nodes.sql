-- nodes | in: ppdm.nodes | out: nodes | grain: one row per node | params: model
-- The nodes of the tree, parents first.
SELECT
    n.node,
    n.parent,
    n.side,
    n.depth,
    n.counts,
    n.attribute,
    n.cut,
    n.categories,
    n.null_left
FROM ppdm.nodes AS n
WHERE n.model = $model
ORDER BY n.node ASC;
