-- moved_rows | in: owned_rows | out: moved_rows | grain: one row | params: -
-- Persons who have other rows than before, by the columns that are released unchanged.
SELECT
    count(DISTINCT m.person) AS persons
FROM (
    SELECT
        o.person,
        o.unchanged
    FROM owned_rows AS o
    GROUP BY o.person, o.unchanged
    HAVING sum(o.before) <> sum(o.after)
) AS m;
