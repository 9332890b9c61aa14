-- leaves | in: ppdm.taxonomies | out: leaves | grain: one row per attribute and leaf | params: release
-- The leaves of a release's trees, each with the label of the node of the cut that it is or lies under.
WITH RECURSIVE covered AS (
    SELECT
        t.attribute,
        t.node,
        t.label AS cut
    FROM ppdm.taxonomies AS t
    WHERE t.release = $release
        AND t.shown
    UNION ALL
    SELECT
        n.attribute,
        n.node,
        c.cut
    FROM covered AS c
    JOIN ppdm.taxonomies AS n
        ON n.attribute = c.attribute
        AND n.parent = c.node
        AND n.node > c.node
    WHERE n.release = $release
        AND NOT n.shown
)
SELECT
    l.attribute,
    l.node,
    l.label,
    l.lower,
    l.upper,
    l.closed,
    c.cut
FROM ppdm.taxonomies AS l
JOIN covered AS c
    ON c.attribute = l.attribute
    AND c.node = l.node
WHERE l.release = $release
    AND NOT EXISTS (
        SELECT 1
        FROM ppdm.taxonomies AS n
        WHERE n.release = $release
            AND n.attribute = l.attribute
            AND n.parent = l.node
    );
