-- days | in: column_values | out: days | grain: one row per day, in order | params: -
-- The days of dates or timestamps, the days after them, and the month, quarter, year and decade of each. Infinite
-- ones have no day.
SELECT DISTINCT
    CAST(m.day AS VARCHAR) AS day,
    CAST(CAST(m.day + INTERVAL 1 DAY AS DATE) AS VARCHAR) AS following,
    concat(m.year, '-', lpad(CAST(month(m.day) AS VARCHAR), 2, '0')) AS month,
    concat(m.year, '-Q', quarter(m.day)) AS quarter,
    CAST(m.year AS VARCHAR) AS year,
    concat(CAST(floor(m.year / 10) AS BIGINT) * 10, 's') AS decade
FROM (
    SELECT
        CAST(v.value AS DATE) AS day,
        year(CAST(v.value AS DATE)) AS year
    FROM column_values AS v
    WHERE v.value IS NOT NULL
        AND isfinite(v.value)
) AS m
ORDER BY m.day;
