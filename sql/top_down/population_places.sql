-- population_places | in: values_there, dictionary | out: population_places | grain: one row per value of the population | params: lower VARCHAR, upper VARCHAR, closed BOOLEAN
-- Where each value of the population lies among those of an ordered column: the code of the last one up to it, the
-- first one's where there is none, and whether it is within the bounds: those given, else the least and the greatest.
WITH extremes AS (
    SELECT
        min(d.value) AS lowest,
        max(d.value) AS highest
    FROM dictionary AS d
),

bounds AS (
    SELECT
        coalesce(TRY(cast_to_type(CAST($lower AS VARCHAR), e.lowest)), e.lowest) AS lower,
        coalesce(TRY(cast_to_type(CAST($upper AS VARCHAR), e.lowest)), e.highest) AS upper
    FROM extremes AS e
),

known_values AS (
    SELECT
        d.value,
        d.code
    FROM dictionary AS d
    WHERE d.value IS NOT NULL
)

SELECT
    v.code,
    coalesce(k.code, 0) AS place,
    coalesce(
        v.value >= b.lower AND (v.value < b.upper OR (CAST($closed AS BOOLEAN) AND v.value = b.upper)), FALSE
    ) AS is_inside
FROM values_there AS v
ASOF LEFT JOIN known_values AS k
    ON v.value >= k.value
CROSS JOIN bounds AS b;
