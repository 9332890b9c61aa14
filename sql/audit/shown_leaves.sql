-- shown_leaves | in: recorded_trees | out: shown_leaves | grain: one row per leaf of the attribute's tree | params: name VARCHAR
-- The leaves of a generalized column's recorded tree, each with the label of the node of the cut that it is or lies
-- under, and the root where the cut shows it: what no leaf holds is shown as the root, unless that has bounds.
WITH RECURSIVE own_nodes AS (
    SELECT
        t.node,
        t.parent,
        t.label,
        t.lower,
        t.upper,
        t.closed,
        t.shown
    FROM recorded_trees AS t
    WHERE t.attribute = param('name')
),

covered_nodes AS (
    SELECT
        o.node,
        o.label AS shown_label
    FROM own_nodes AS o
    WHERE o.shown
    UNION ALL
    SELECT
        o.node,
        c.shown_label
    FROM covered_nodes AS c
    JOIN own_nodes AS o
        ON o.parent = c.node
    WHERE NOT o.shown
)

SELECT
    o.node,
    o.parent IS NULL AS is_root,
    NOT EXISTS (
        SELECT 1
        FROM own_nodes AS n
        WHERE n.parent = o.node
    ) AS is_leaf,
    o.label AS text,
    o.lower,
    o.upper,
    o.closed,
    c.shown_label
FROM own_nodes AS o
JOIN covered_nodes AS c
    ON c.node = o.node;
