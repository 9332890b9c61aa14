-- nodes | in: - | out: nodes | grain: one row per node | params: children VARCHAR[], parents VARCHAR[]
-- A taxonomy as a parent-child table; the lists run parallel, and the position keeps the order of children.
SELECT
    unnest(CAST($children AS VARCHAR[])) AS child,
    unnest(CAST($parents AS VARCHAR[])) AS parent,
    unnest(CAST(range(len($children)) AS INTEGER[])) AS position;
