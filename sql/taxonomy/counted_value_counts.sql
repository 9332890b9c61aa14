-- counted_value_counts | in: source | out: counted_value_counts | grain: one row per value | params: attribute COLUMNS, count COLUMNS
-- The values of one column of collapsed rows but NULL, with their records.
SELECT
    COLUMNS(getvariable('attribute')) AS value,
    CAST(sum(COLUMNS(getvariable('count'))) AS BIGINT) AS records
FROM source AS s
WHERE COLUMNS(getvariable('attribute')) IS NOT NULL
    AND COLUMNS(getvariable('count')) > 0
GROUP BY COLUMNS(getvariable('attribute'));
