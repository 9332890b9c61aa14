-- leaf_values | in: known_labels, values_to_label | out: leaf_values | grain: one row per value | params: name VARCHAR
-- What each value of a column is shown as that holds no texts: it is the leaf of its text, or else of its type, so that
-- 30.0 is the number 30.
WITH own_leaves AS (
    SELECT
        l.text,
        l.label
    FROM known_labels AS l
    WHERE l.attribute = param('name')
),
typed_leaves AS (
    SELECT
        TRY(cast_to_type(l.text, v.value)) AS value,
        min(l.label) AS label
    FROM own_leaves AS l
    LEFT JOIN values_to_label AS v
        ON FALSE
    GROUP BY ALL
)
SELECT
    v.value,
    coalesce(l.label, t.label) AS label
FROM values_to_label AS v
LEFT JOIN own_leaves AS l
    ON l.text = CAST(v.value AS VARCHAR)
LEFT JOIN typed_leaves AS t
    ON t.value = v.value;
