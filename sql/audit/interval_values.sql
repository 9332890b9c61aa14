-- interval_values | in: source, released | out: interval_values | grain: one row per value of the source and interval that holds it | params: attribute VARCHAR, top VARCHAR
-- What a column of intervals must show of each value: the interval that holds it, by the bounds that its label names,
-- else the most general label; NULL where the release shows NULL.
WITH labels AS (
    SELECT
        CAST(COLUMNS(getvariable('attribute')) AS VARCHAR) AS label
    FROM released AS f
    GROUP BY ALL
),
originals AS (
    SELECT
        COLUMNS(getvariable('attribute')) AS value
    FROM source AS s
    GROUP BY ALL
),
intervals AS (
    SELECT
        l.label,
        TRY(cast_to_type(regexp_extract(l.label, '^\[([^,]+), ', 1), o.value)) AS lower,
        TRY(cast_to_type(regexp_extract(l.label, ', ([^,]+)[\])]$', 1), o.value)) AS upper,
        ends_with(l.label, ']') AS closed
    FROM labels AS l
    LEFT JOIN originals AS o
        ON FALSE
    WHERE regexp_matches(l.label, '^\[[^,]+, [^,]+[\])]$')
)
SELECT
    o.value,
    CASE
        WHEN o.value < i.upper OR (i.closed AND o.value = i.upper) THEN i.label
        WHEN o.value IS NULL AND (SELECT bool_or(l.label IS NULL) FROM labels AS l) THEN NULL
        ELSE param('top')
    END AS label
FROM originals AS o
ASOF LEFT JOIN intervals AS i
    ON o.value >= i.lower;
