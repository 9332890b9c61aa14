-- reached_counts | in: judgements | out: reached_counts | grain: one row per bar | params: width DOUBLE, bars INTEGER
-- How many groups, and records in them, reach what of a requirement: bars of one width from 0, the last takes what is beyond.
WITH worst_of_class AS (
    SELECT
        j.class,
        j.class_records,
        max(j.reached) AS reached
    FROM judgements AS j
    GROUP BY j.class, j.class_records
)
SELECT
    CAST(least(floor(w.reached / CAST(param('width') AS DOUBLE) + 1e-9), param('bars') - 1) AS INTEGER) AS bar,
    count(*) AS classes,
    CAST(sum(w.class_records) AS BIGINT) AS records
FROM worst_of_class AS w
GROUP BY ALL
ORDER BY bar;
