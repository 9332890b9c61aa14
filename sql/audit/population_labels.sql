-- population_labels | in: values_to_label, shown_leaves | out: population_labels | grain: one row per value of the population | params: -
-- What a generalized column would show of each value: the label over the leaf that is the value, as text or else in its
-- type, or that holds it; else the root's, where the cut shows it and it has no bounds or the value is within them.
-- What no label of the cut holds is outside. A label with one bound alone is open on the other side.
WITH typed_leaves AS (
    SELECT
        l.*,
        TRY(cast_to_type(l.text, v.value)) AS same,
        TRY(cast_to_type(l.lower, v.value)) AS least,
        TRY(cast_to_type(l.upper, v.value)) AS most
    FROM shown_leaves AS l
    LEFT JOIN values_to_label AS v
        ON FALSE
),

matches AS (
    SELECT
        v.value,
        l.shown_label,
        l.node,
        1 AS place
    FROM values_to_label AS v
    JOIN typed_leaves AS l
        ON l.text IS NOT DISTINCT FROM CAST(v.value AS VARCHAR)
    WHERE l.is_leaf
        AND l.lower IS NULL
        AND l.upper IS NULL
    UNION ALL
    SELECT
        v.value,
        l.shown_label,
        l.node,
        2 AS place
    FROM values_to_label AS v
    JOIN typed_leaves AS l
        ON l.same = v.value
    WHERE l.is_leaf
        AND l.lower IS NULL
        AND l.upper IS NULL
    UNION ALL
    SELECT
        v.value,
        l.shown_label,
        l.node,
        CASE WHEN l.is_leaf THEN 3 ELSE 4 END AS place
    FROM values_to_label AS v
    JOIN typed_leaves AS l
        ON (l.lower IS NULL OR v.value >= l.least)
        AND (l.upper IS NULL OR v.value < l.most OR (l.closed AND v.value = l.most))
    WHERE (l.lower IS NOT NULL OR l.upper IS NOT NULL)
        AND (l.is_leaf OR l.is_root)
    UNION ALL
    SELECT
        v.value,
        l.shown_label,
        l.node,
        5 AS place
    FROM values_to_label AS v
    CROSS JOIN typed_leaves AS l
    WHERE l.is_root
        AND l.lower IS NULL
        AND l.upper IS NULL
),

first_matches AS (
    SELECT
        m.value,
        first(m.shown_label ORDER BY m.place ASC, m.node ASC) AS label
    FROM matches AS m
    GROUP BY m.value
)

SELECT
    v.value,
    f.label,
    f.value IS NULL AND v.value IS NOT NULL OR v.value IS NULL AND NOT EXISTS (
        SELECT 1
        FROM matches AS n
        WHERE n.value IS NULL
    ) AS is_outside
FROM values_to_label AS v
LEFT JOIN first_matches AS f
    ON f.value IS NOT DISTINCT FROM v.value;
