-- record_key | in: source | out: record_key | grain: one row | params: record COLUMNS
-- Whether a column tells records apart: it has another value in each.
SELECT
    count(*) AS records,
    count(COLUMNS(getvariable('record'))) AS with_value,
    count(DISTINCT COLUMNS(getvariable('record'))) AS different
FROM source AS s;
