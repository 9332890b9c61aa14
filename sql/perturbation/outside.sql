-- outside | in: source | out: outside | grain: one row | params: attribute COLUMNS, lower, upper
-- Records whose value lies outside of the domain.
SELECT
    count(*) AS records
FROM source AS s
WHERE NOT CAST(COLUMNS(getvariable('attribute')) AS DOUBLE) BETWEEN $lower AND $upper;
