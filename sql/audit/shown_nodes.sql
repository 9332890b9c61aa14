-- shown_nodes | in: shown_labels | out: shown_nodes | grain: one row per attribute and node | params: attributes, nodes, labels
-- Which nodes of the owner's trees a release shows; NULL has a row of its own, without a node.
SELECT
    l.attribute,
    n.node
FROM shown_labels AS l
LEFT JOIN (
    SELECT
        unnest(CAST($attributes AS VARCHAR[])) AS attribute,
        unnest(CAST($nodes AS INTEGER[])) AS node,
        unnest(CAST($labels AS VARCHAR[])) AS label
) AS n
    ON n.attribute = l.attribute
    AND n.label = l.label
WHERE n.node IS NOT NULL
    OR l.label IS NULL;
