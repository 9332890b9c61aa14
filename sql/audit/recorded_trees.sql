-- recorded_trees | in: trees | out: recorded_trees | grain: one row per attribute and node | params: attributes
-- The nodes that a release would record: labels of the owner's taxonomies, whose attributes are given, and whether the
-- bounds of an interval are others than its label names. No label of another attribute, which is a value, is read.
SELECT
    t.attribute,
    CASE WHEN list_contains(CAST($attributes AS VARCHAR[]), t.attribute) THEN t.label END AS label,
    t.node,
    t.parent,
    t.shown,
    coalesce(
        t.label <> CASE
            WHEN t.upper IS NULL THEN t.lower || ' or more'
            WHEN t.lower IS NOT NULL
                THEN '[' || t.lower || ', ' || t.upper || CASE WHEN t.closed THEN ']' ELSE ')' END
            WHEN t.closed THEN t.upper || ' or less'
            ELSE 'less than ' || t.upper
        END,
        FALSE
    ) AS is_false
FROM trees AS t
WHERE t.lower IS NOT NULL
    OR t.upper IS NOT NULL
    OR list_contains(CAST($attributes AS VARCHAR[]), t.attribute);
