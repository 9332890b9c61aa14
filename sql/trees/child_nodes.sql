-- child_nodes | in: - | out: child_nodes | grain: one row per place | params: first BIGINT[], last BIGINT[], node INTEGER[], settled BOOLEAN[]
-- The child of each place, a node's first place plus the cell of its split; what goes to a leaf has none.
SELECT
    unnest(range(run.first, run.last)) AS place,
    run.node,
    run.settled
FROM (
    SELECT
        unnest($first::BIGINT[]) AS first,
        unnest($last::BIGINT[]) AS last,
        unnest($node::INTEGER[]) AS node,
        unnest($settled::BOOLEAN[]) AS settled
) AS run;
