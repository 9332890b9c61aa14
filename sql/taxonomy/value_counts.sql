-- value_counts | in: source | out: value_counts | grain: one row per value | params: attribute COLUMNS
-- The values of one column but NULL, with their records.
SELECT
    COLUMNS(getvariable('attribute')) AS value,
    count(*) AS records
FROM source AS s
WHERE COLUMNS(getvariable('attribute')) IS NOT NULL
GROUP BY COLUMNS(getvariable('attribute'));
