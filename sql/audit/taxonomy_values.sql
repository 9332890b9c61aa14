-- taxonomy_values | in: source, released | out: taxonomy_values | grain: one row per value of the source | params: attribute VARCHAR, top VARCHAR, leaves, labels, depths
-- What a column with a taxonomy must show of each value: the most specific label above its leaf that the release shows
-- anywhere. A value is the leaf of its text, or else of its type: 30.0 is the number 30. NULL is a child of the root.
WITH originals AS (
    SELECT
        COLUMNS(getvariable('attribute')) AS value
    FROM source AS s
    GROUP BY ALL
),
shown_labels AS (
    SELECT
        CAST(COLUMNS(getvariable('attribute')) AS VARCHAR) AS label
    FROM released AS f
    GROUP BY ALL
),
leaf_labels AS (
    SELECT
        p.leaf,
        arg_max(p.label, p.depth) AS label
    FROM (
        SELECT
            unnest(CAST($leaves AS VARCHAR[])) AS leaf,
            unnest(CAST($labels AS VARCHAR[])) AS label,
            unnest(CAST($depths AS INTEGER[])) AS depth
    ) AS p
    JOIN shown_labels AS l
        ON l.label = p.label
    GROUP BY p.leaf
),
leaf_values AS (
    SELECT
        TRY(cast_to_type(b.leaf, o.value)) AS value,
        min(b.label) AS label
    FROM leaf_labels AS b
    LEFT JOIN originals AS o
        ON FALSE
    GROUP BY ALL
)
SELECT
    o.value,
    CASE
        WHEN o.value IS NOT NULL THEN coalesce(t.label, k.label)
        WHEN (SELECT bool_or(l.label IS NULL) FROM shown_labels AS l) THEN NULL
        ELSE param('top')
    END AS label
FROM originals AS o
LEFT JOIN leaf_labels AS t
    ON t.leaf = CAST(o.value AS VARCHAR)
LEFT JOIN leaf_values AS k
    ON k.value = o.value;
