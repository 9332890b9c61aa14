-- ordinals | in: feature_values | out: ordinals | grain: one row per value | params: -
-- One number a value. An ordered value has its place among those known from training: 1, 2, ..., and
-- a half between two of them. All else is a category: -1, -2, ..., or 0 where training does not know it.
SELECT
    f.value,
    CASE
        WHEN f.place IS NOT NULL
            THEN CAST(sum(CAST(f.known AS INTEGER)) OVER in_order AS DOUBLE)
                + if(f.known, 0, 0.5)
        WHEN f.known
            THEN -CAST(sum(CAST(f.known AS INTEGER)) OVER in_order AS DOUBLE)
        ELSE 0
    END AS ordinal
FROM feature_values AS f
WINDOW in_order AS (
    PARTITION BY f.place IS NULL
    ORDER BY f.place, f.known DESC, f.value
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);
