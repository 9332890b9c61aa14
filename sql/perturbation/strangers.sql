-- strangers | in: source | out: strangers | grain: one row | params: attribute COLUMNS, categories
-- Records whose value is none of the categories.
SELECT
    count(*) AS records
FROM source AS s
WHERE NOT list_contains(CAST($categories AS VARCHAR[]), CAST(COLUMNS(getvariable('attribute')) AS VARCHAR));
