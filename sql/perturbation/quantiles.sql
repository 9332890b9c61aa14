-- quantiles | in: source | out: quantiles | grain: one row | params: attribute COLUMNS, shares
-- The values at which cells of about equal numbers of records begin.
SELECT
    quantile_disc(CAST(COLUMNS(getvariable('attribute')) AS DOUBLE), CAST($shares AS DOUBLE[])) AS edges
FROM source AS s;
