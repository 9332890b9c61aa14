-- value_counts | in: source | out: value_counts | grain: one row per value | params: attribute COLUMNS, count BIGINT
-- The values of one column but NULL, with their records; a row stands for so many as count says.
SELECT
    COLUMNS(getvariable('attribute')) AS value,
    CAST(sum(param('count')) AS BIGINT) AS records
FROM source AS s
WHERE COLUMNS(getvariable('attribute')) IS NOT NULL
    AND param('count') > 0
GROUP BY COLUMNS(getvariable('attribute'));
