-- swap_margins | in: swapped_values | out: swap_margins | grain: one row per value | params: -
-- How frequent each confidential value is in the source and in the release.
SELECT
    v.value,
    CAST(sum(v.before) AS BIGINT) AS before,
    CAST(sum(v.after) AS BIGINT) AS after
FROM swapped_values AS v
GROUP BY v.value;
