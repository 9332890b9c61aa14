-- set_classes | in: coded | out: set_classes | grain: one row per class | params: columns VARCHAR[]
-- The classes of a set of columns, each with one of its atoms and its records; NULL is a value and has a code.
WITH keyed_classes AS (
    SELECT
        COLUMNS(getvariable('columns')),
        min(c.atom) AS atom,
        CAST(sum(c.records) AS BIGINT) AS records
    FROM coded AS c
    GROUP BY ALL
)
SELECT
    k.atom,
    k.records
FROM keyed_classes AS k;
