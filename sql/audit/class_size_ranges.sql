-- class_size_ranges | in: class_sizes | out: class_size_ranges | grain: one row per smallest and largest | params: -
-- Class sizes for reading: single sizes up to 10, then 11-20, 21-50, 51-100, 101-200, 201-500 ...
WITH decades AS (
    SELECT
        s.class_size,
        s.classes,
        s.records,
        CAST('1' || repeat('0', length(CAST(s.class_size - 1 AS VARCHAR)) - 1) AS BIGINT) AS decade
    FROM class_sizes AS s
),
ranges AS (
    SELECT
        d.classes,
        d.records,
        CASE
            WHEN d.class_size <= 10 THEN d.class_size
            WHEN d.class_size <= 2 * d.decade THEN d.decade + 1
            WHEN d.class_size <= 5 * d.decade THEN 2 * d.decade + 1
            ELSE 5 * d.decade + 1
        END AS smallest,
        CASE
            WHEN d.class_size <= 10 THEN d.class_size
            WHEN d.class_size <= 2 * d.decade THEN 2 * d.decade
            WHEN d.class_size <= 5 * d.decade THEN 5 * d.decade
            ELSE 10 * d.decade
        END AS largest
    FROM decades AS d
)
SELECT
    r.smallest,
    r.largest,
    CAST(sum(r.classes) AS BIGINT) AS classes,
    CAST(sum(r.records) AS BIGINT) AS records
FROM ranges AS r
GROUP BY r.smallest, r.largest
ORDER BY r.smallest;
