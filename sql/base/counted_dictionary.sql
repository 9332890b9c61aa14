-- counted_dictionary | in: source | out: counted_dictionary | grain: one row per value | params: attribute COLUMNS, count COLUMNS
-- The values of one column of collapsed rows with codes from 0 in value order; a row that counts no record has none.
SELECT
    v.value,
    row_number() OVER (ORDER BY v.value NULLS LAST) - 1 AS code
FROM (
    SELECT DISTINCT
        COLUMNS(getvariable('attribute')) AS value
    FROM source AS s
    WHERE COLUMNS(getvariable('count')) > 0
) AS v;
