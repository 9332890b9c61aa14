-- population_values | in: values_there, dictionary | out: population_values | grain: one row per value of the population | params: -
-- The code of each value of the population in the source, -1 where the source lacks it; NULL is a value.
SELECT
    v.code,
    coalesce(d.code, -1) AS found
FROM values_there AS v
LEFT JOIN dictionary AS d
    ON d.value IS NOT DISTINCT FROM v.value;
