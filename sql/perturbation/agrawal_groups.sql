-- agrawal_groups | in: candidates | out: agrawal_groups | grain: one row | params: -
-- How many candidates belong to each group.
SELECT
    count(*) FILTER (c.in_group_a) AS group_a,
    count(*) FILTER (NOT c.in_group_a) AS group_b
FROM candidates AS c;
