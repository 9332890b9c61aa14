-- interval_taxonomy_values | in: source, released | out: interval_taxonomy_values | grain: one row per value of the source | params: attribute VARCHAR, top VARCHAR, leaves, labels, depths
-- What a column with a taxonomy of intervals must show of each value: the most specific label above the leaf that holds
-- it that the release shows anywhere. NULL is a child of the root.
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
leaf_bounds AS (
    SELECT
        b.label,
        cast_to_type(regexp_extract(b.leaf, '^\[([^,]+), ', 1), o.value) AS lower,
        cast_to_type(regexp_extract(b.leaf, ', ([^,]+)[\])]$', 1), o.value) AS upper,
        ends_with(b.leaf, ']') AS closed
    FROM leaf_labels AS b
    LEFT JOIN originals AS o
        ON FALSE
)
SELECT
    o.value,
    CASE
        WHEN o.value < k.upper OR (k.closed AND o.value = k.upper) THEN k.label
        WHEN o.value IS NULL AND NOT (SELECT bool_or(l.label IS NULL) FROM shown_labels AS l) THEN param('top')
    END AS label
FROM originals AS o
ASOF LEFT JOIN leaf_bounds AS k
    ON o.value >= k.lower;
