-- count_faults | in: source | out: count_faults | grain: one row | params: count_column VARCHAR[]
-- Rows whose count cannot be a number of records, and whether all add up to a number that fits.
-- A count of zero is fine: such rows do not exist.
SELECT
    count(*) FILTER (WHERE COLUMNS(getvariable('count_column')) IS NULL) AS null_counts,
    count(*) FILTER (WHERE COLUMNS(getvariable('count_column')) < 0) AS negative_counts,
    coalesce(
        sum(CAST(COLUMNS(getvariable('count_column')) AS DOUBLE)) < 9.2e18,
        TRUE
    ) AS is_countable
FROM source AS s;
