-- value_records | in: side | out: value_records | grain: one row per value | params: value COLUMNS, wanted VARCHAR[]
-- The records of some values, which are given as text; NULL is counted whether it is asked for or not.
SELECT
    CAST(COLUMNS(getvariable('value')) AS VARCHAR) AS value,
    CAST(sum(s.records) AS BIGINT) AS records
FROM side AS s
WHERE
    list_contains($wanted, CAST(COLUMNS(getvariable('value')) AS VARCHAR))
    OR COLUMNS(getvariable('value')) IS NULL
GROUP BY ALL;
