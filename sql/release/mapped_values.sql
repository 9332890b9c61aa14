-- mapped_values | in: column_values, column_leaves, ppdm.cuts | out: mapped_values | grain: one row per value | params: top, suppressed BOOLEAN, release, attribute
-- The label of each value: that of the cut over the leaf which the value equals, as text or else in its own type,
-- or else lies in. NULL is a value. Without a leaf it shows the top, and counts as seen only where the top is all there
-- is, or where the source of the release held it too, suppressed.
SELECT
    v.value,
    CASE WHEN l.node IS NULL THEN $top ELSE l.cut END AS label,
    v.records,
    l.node,
    l.node IS NOT NULL AS matched,
    l.node IS NOT NULL OR NOT $suppressed AND r.alone OR $suppressed AND EXISTS (
        SELECT 1
        FROM ppdm.cuts AS c
        WHERE c.release = $release
            AND c.attribute = $attribute
            AND c.value IS NOT DISTINCT FROM CAST(v.value AS VARCHAR)
    ) AS seen
FROM column_values AS v
CROSS JOIN (
    SELECT count(*) = 1 AND bool_and(o.lower IS NULL AND o.upper IS NULL) AS alone
    FROM column_leaves AS o
) AS r
LEFT JOIN (
    SELECT
        m.value,
        first(m.node ORDER BY m.tier ASC, m.node ASC) AS node
    FROM (
        SELECT
            e.value,
            t.node,
            1 AS tier
        FROM column_values AS e
        JOIN column_leaves AS t
            ON t.label IS NOT DISTINCT FROM CAST(e.value AS VARCHAR)
        UNION ALL
        SELECT
            e.value,
            t.node,
            2 AS tier
        FROM column_values AS e
        JOIN column_leaves AS t
            ON t.same = e.value
        UNION ALL
        SELECT
            e.value,
            t.node,
            3 AS tier
        FROM column_values AS e
        JOIN column_leaves AS t
            ON e.place >= t.lower
            AND e.place <= t.upper
        WHERE t.closed
            OR e.place < t.upper
        UNION ALL
        SELECT
            e.value,
            t.node,
            3 AS tier
        FROM column_values AS e
        CROSS JOIN column_leaves AS t
        WHERE e.value IS NOT NULL
            AND (t.lower IS NULL OR t.upper IS NULL)
            AND (t.lower IS NULL OR e.place >= t.lower)
            AND (t.upper IS NULL OR e.place < t.upper OR e.place = t.upper AND t.closed)
            AND (t.lower IS NOT NULL OR t.upper IS NOT NULL OR NOT t.closed)
    ) AS m
    GROUP BY m.value
) AS f
    ON f.value IS NOT DISTINCT FROM v.value
LEFT JOIN column_leaves AS l
    ON l.node = f.node;
