-- linked_persons | in: atoms | out: linked_persons | grain: one row | params: qi VARCHAR[]
-- Where a person's records can be linked, all their classes together are what others may know: the persons with
-- the same set of classes cannot be told apart.
WITH classed_atoms AS (
    SELECT
        min(a.atom) OVER (PARTITION BY COLUMNS(getvariable('qi'))) AS class,
        a.person
    FROM atoms AS a
),
person_sets AS (
    SELECT
        a.person,
        list_sort(list(DISTINCT a.class)) AS classes
    FROM classed_atoms AS a
    GROUP BY a.person
),
alike_persons AS (
    SELECT
        count(*) AS persons
    FROM person_sets AS s
    GROUP BY s.classes
)
SELECT
    min(p.persons) AS smallest
FROM alike_persons AS p;
