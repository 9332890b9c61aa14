-- bar_counts | in: side | out: bar_counts | grain: one row per bar | params: place COLUMNS, least DOUBLE, width DOUBLE, bars INTEGER
-- The records in bars of one width; what lies on the last edge belongs to the last bar.
WITH placed_records AS (
    SELECT
        (COLUMNS(getvariable('place')) - CAST(param('least') AS DOUBLE)) / CAST(param('width') AS DOUBLE) AS place,
        s.records
    FROM side AS s
)
SELECT
    CAST(least(floor(p.place), param('bars') - 1) AS INTEGER) AS bar,
    CAST(sum(p.records) AS BIGINT) AS records
FROM placed_records AS p
WHERE p.place >= 0 AND p.place <= param('bars')
GROUP BY ALL
ORDER BY bar;
