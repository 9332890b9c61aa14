-- text_nodes | in: dictionary | out: text_nodes | grain: one row per code | params: labels VARCHAR[], nodes INTEGER[]
-- The leaf that each text is, -1 where none is: value_nodes for columns of texts, which need no casting.
SELECT
    d.code,
    coalesce(l.node, -1) AS node
FROM dictionary AS d
LEFT JOIN (
    SELECT
        unnest(CAST($labels AS VARCHAR[])) AS label,
        unnest(CAST($nodes AS INTEGER[])) AS node
) AS l
    ON l.label = CAST(d.value AS VARCHAR);
