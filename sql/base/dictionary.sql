-- dictionary | in: source | out: dictionary | grain: one row per value | params: attribute COLUMNS
-- The values of one column with codes from 0 in value order; NULL is a value and comes last.
SELECT
    v.value,
    row_number() OVER (ORDER BY v.value NULLS LAST) - 1 AS code
FROM (
    SELECT DISTINCT
        COLUMNS(getvariable('attribute')) AS value
    FROM source AS s
) AS v;
