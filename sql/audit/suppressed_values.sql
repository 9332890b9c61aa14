-- suppressed_values | in: source, released | out: suppressed_values | grain: one row per value of the source | params: attribute VARCHAR, top VARCHAR
-- What a suppressed column must show of each value: the value if the release shows it anywhere, else the symbol.
SELECT
    v.value,
    CASE WHEN r.shown THEN CAST(v.value AS VARCHAR) ELSE param('top') END AS label
FROM (
    SELECT
        COLUMNS(getvariable('attribute')) AS value
    FROM source AS s
    GROUP BY ALL
) AS v
LEFT JOIN (
    SELECT
        CAST(COLUMNS(getvariable('attribute')) AS VARCHAR) AS label,
        TRUE AS shown
    FROM released AS f
    GROUP BY ALL
) AS r
    ON r.label IS NOT DISTINCT FROM CAST(v.value AS VARCHAR);
