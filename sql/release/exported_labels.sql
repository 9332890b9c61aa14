-- exported_labels | in: source_values, shown_labels, trees | out: exported_labels | grain: one row per value | params: name VARCHAR, symbol VARCHAR
-- The label under which an exported release shows a value: itself, the interval that holds it, the nearest group of a
-- tree that the file of the source knows, else the suppressed symbol; nothing fits where matched is 0.
WITH RECURSIVE above AS (
    SELECT
        t.release,
        t.label AS value,
        t.label,
        t.parent,
        0 AS steps
    FROM trees AS t
    WHERE lower(t.attribute) = lower(param('name'))
    UNION ALL
    SELECT
        a.release,
        a.value,
        t.label,
        t.parent,
        a.steps + 1 AS steps
    FROM above AS a
    INNER JOIN trees AS t
        ON a.release = t.release AND a.parent = t.node AND lower(t.attribute) = lower(param('name'))
),
fitting AS (
    SELECT
        v.value,
        s.label,
        CASE
            WHEN s.label IS NOT DISTINCT FROM v.text THEN 0
            WHEN s.lower IS NOT NULL OR s.upper IS NOT NULL
                THEN if(
                    v.value >= coalesce(s.lower, v.value)
                    AND (v.value < coalesce(s.upper, v.value) OR v.value = s.upper AND s.closed OR s.upper IS NULL),
                    1,
                    NULL
                )
            WHEN s.label = param('symbol') THEN 1000000
            ELSE (
                SELECT
                    min(1 + a.steps)
                FROM above AS a
                WHERE a.value IS NOT DISTINCT FROM v.text AND a.label = s.label
            )
        END AS place
    FROM source_values AS v
    CROSS JOIN shown_labels AS s
)
SELECT
    f.value,
    arg_min(f.label, f.place) FILTER (f.label IS NOT NULL) AS label,
    count(f.place) AS matched
FROM fitting AS f
GROUP BY f.value;
