-- protected_values | in: requested_values, cells | out: protected_values | grain: one row per requirement and position | params: -
-- Protected values, written as text by the owner, in the type of the sensitive column; all that
-- occur where the template names none. Not usable: a text that does not cast, or that the cast
-- rounds.
WITH cast_values AS (
    SELECT
        r.requirement,
        r.position,
        r.text,
        TRY(cast_to_type(r.text, c.value)) AS value,
        r.numerator,
        r.denominator
    FROM requested_values AS r
    LEFT JOIN cells AS c
        ON FALSE
    WHERE NOT r.every_value
),
occurring_values AS (
    SELECT DISTINCT
        c.value
    FROM cells AS c
)
SELECT
    v.requirement,
    v.position,
    v.text,
    v.value,
    v.numerator,
    v.denominator,
    v.text IS NULL
    OR (
        v.value IS NOT NULL
        AND coalesce(
            TRY_CAST(CAST(v.value AS VARCHAR) AS DOUBLE) = TRY_CAST(v.text AS DOUBLE),
            TRUE
        )
    ) AS usable
FROM cast_values AS v
UNION ALL
SELECT
    r.requirement,
    row_number() OVER (PARTITION BY r.requirement ORDER BY o.value NULLS LAST) AS position,
    CAST(o.value AS VARCHAR) AS text,
    o.value,
    r.numerator,
    r.denominator,
    TRUE AS usable
FROM requested_values AS r
CROSS JOIN occurring_values AS o
WHERE r.every_value;
