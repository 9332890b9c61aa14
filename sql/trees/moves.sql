-- moves | in: - | out: moves | grain: one row per place | params: first BIGINT[], last BIGINT[], node INTEGER[], settled BOOLEAN[]
-- To which node of the next level a place goes, a node's base plus the cell; what goes to a leaf has none.
SELECT
    unnest(range(move.first, move.last)) AS place,
    move.node,
    move.settled
FROM (
    SELECT
        unnest($first::BIGINT[]) AS first,
        unnest($last::BIGINT[]) AS last,
        unnest($node::INTEGER[]) AS node,
        unnest($settled::BOOLEAN[]) AS settled
) AS move;
