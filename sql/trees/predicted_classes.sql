-- predicted_classes | in: target | out: predicted_classes | grain: one row per class | params: predicted COLUMNS
-- Records of each predicted class.
SELECT
    CAST(COLUMNS(getvariable('predicted')) AS VARCHAR) AS class,
    count(*) AS records
FROM target
GROUP BY ALL
ORDER BY ALL;
