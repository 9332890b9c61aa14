-- uncovered_values | in: dictionary | out: uncovered_values | grain: one row per value | params: codes BIGINT[]
-- The texts of the values that have the codes; NULL is none of them.
SELECT
    CAST(d.value AS VARCHAR) AS value
FROM dictionary AS d
JOIN (
    SELECT
        unnest(CAST($codes AS BIGINT[])) AS code
) AS u
    ON u.code = d.code
WHERE d.value IS NOT NULL
ORDER BY d.code;
