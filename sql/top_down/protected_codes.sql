-- protected_codes | in: dictionary | out: protected_codes | grain: one row per value asked, in order | params: values VARCHAR[]
-- Codes of protected values, read in the type of their column; -1 where the column does not hold one.
-- Not usable: a text that does not cast, or that the cast rounds.
WITH typed_values AS (
    SELECT
        w.position,
        w.text,
        TRY(cast_to_type(w.text, t.value)) AS value
    FROM (
        SELECT
            unnest(range(len($values))) AS position,
            unnest(CAST($values AS VARCHAR[])) AS text
    ) AS w
    LEFT JOIN dictionary AS t
        ON FALSE
)
SELECT
    coalesce(d.code, -1) AS code,
    v.text IS NULL
    OR (
        v.value IS NOT NULL
        AND coalesce(
            TRY_CAST(CAST(v.value AS VARCHAR) AS DOUBLE) = TRY_CAST(v.text AS DOUBLE),
            TRUE
        )
    ) AS usable
FROM typed_values AS v
LEFT JOIN dictionary AS d
    ON d.value IS NOT DISTINCT FROM v.value
ORDER BY v.position;
