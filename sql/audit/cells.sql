-- cells | in: atoms | out: cells | grain: one row per class and value | params: qi VARCHAR[], sensitive VARCHAR[]
-- How many records of each class have each sensitive value; NULL is a value of its own in both.
-- Everything about classes and sensitive values follows from these rows. class_values is the sum of records in a
-- class, which is class_records where records are counted.
WITH keyed_cells AS (
    SELECT
        COLUMNS(getvariable('qi')),
        COLUMNS(getvariable('sensitive')) AS value,
        min(a.atom) AS atom,
        CAST(sum(a.records) AS BIGINT) AS records
    FROM atoms AS a
    GROUP BY ALL
)
SELECT
    min(k.atom) OVER (PARTITION BY COLUMNS(getvariable('qi'))) AS class,
    CAST(sum(k.records) OVER (PARTITION BY COLUMNS(getvariable('qi'))) AS BIGINT) AS class_records,
    k.value,
    k.records,
    CAST(sum(k.records) OVER (PARTITION BY COLUMNS(getvariable('qi'))) AS BIGINT) AS class_values
FROM keyed_cells AS k;
