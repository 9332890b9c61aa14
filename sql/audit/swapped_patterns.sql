-- swapped_patterns | in: swapped_values | out: swapped_patterns | grain: one row per pattern | params: by VARCHAR[]
-- What became of each non-confidential pattern. A pattern with one value is identifiable; then each record that it
-- lost of that value was changed.
SELECT
    COLUMNS(getvariable('by')),
    CAST(sum(v.before) AS BIGINT) AS records,
    CAST(sum(v.after) AS BIGINT) AS released,
    count(*) FILTER (v.before > 0) AS "values",
    count(*) FILTER (v.after > 0) AS released_values,
    CAST(sum(greatest(v.before - v.after, 0)) AS BIGINT) AS changed,
    CAST(sum(v.moved) AS BIGINT) AS moved,
    max(v.value) FILTER (v.after > 0) AS shown
FROM swapped_values AS v
GROUP BY ALL;
