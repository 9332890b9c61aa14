-- class_counts | in: coded | out: class_counts | grain: one row per class | params: -
-- Records of each class that has any.
SELECT
    c.class,
    count(*) AS records
FROM coded AS c
GROUP BY c.class;
