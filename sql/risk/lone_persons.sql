-- lone_persons | in: coded | out: lone_persons | grain: one row per atom | params: columns VARCHAR[]
-- The atoms of a person who is alone in a class of a set of columns, with however many records.
WITH people AS (
    SELECT
        c.atom,
        min(c.person) OVER (PARTITION BY COLUMNS(getvariable('columns'))) AS first_person,
        max(c.person) OVER (PARTITION BY COLUMNS(getvariable('columns'))) AS last_person
    FROM coded AS c
)
SELECT
    p.atom,
    CAST(1 AS BIGINT) AS records
FROM people AS p
WHERE p.first_person = p.last_person;
