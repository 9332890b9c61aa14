-- value_nodes | in: dictionary | out: value_nodes | grain: one row per code | params: labels VARCHAR[], nodes INTEGER[]
-- The leaf that each value is, by its text or, as 30.0 is the number 30, in the column's type; -1 where none is.
-- A label that the cast rounds is not a value; leaves counts those that are the same value in the column's type.
WITH leaf_labels AS (
    SELECT
        unnest(CAST($labels AS VARCHAR[])) AS label,
        unnest(CAST($nodes AS INTEGER[])) AS node
),
typed_labels AS (
    SELECT
        w.label,
        w.node,
        TRY(cast_to_type(w.label, t.value)) AS value
    FROM leaf_labels AS w
    LEFT JOIN dictionary AS t
        ON FALSE
),
leaf_values AS (
    SELECT
        y.value,
        min(y.node) AS node,
        count(*) AS leaves
    FROM typed_labels AS y
    WHERE y.value IS NOT NULL
        AND coalesce(
            TRY_CAST(CAST(y.value AS VARCHAR) AS DOUBLE) = TRY_CAST(y.label AS DOUBLE),
            typeof(y.value) <> 'DATE'
            OR TRY_CAST(CAST(y.value AS VARCHAR) AS TIMESTAMP) = TRY_CAST(y.label AS TIMESTAMP)
        )
    GROUP BY y.value
)
SELECT
    d.code,
    coalesce(l.node, v.node, -1) AS node,
    coalesce(v.leaves, 0) AS leaves
FROM dictionary AS d
LEFT JOIN leaf_labels AS l
    ON l.label = CAST(d.value AS VARCHAR)
LEFT JOIN leaf_values AS v
    ON v.value = d.value;
