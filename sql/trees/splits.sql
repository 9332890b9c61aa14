-- splits | in: - | out: splits | grain: one row per node | params: node INTEGER[], attribute INTEGER[], cut INTEGER[], categories INTEGER[][], nulls INTEGER[], null_left BOOLEAN[], left_node INTEGER[], right_node INTEGER[], left_settled BOOLEAN[], right_settled BOOLEAN[], settled_from INTEGER[], first_bin BIGINT[]
-- The nodes of a level that are split, and where their records go: those whose cell is below the cut or among
-- the categories to the left node; no node where they are done with. Settled children take the root's cells.
SELECT
    unnest($node::INTEGER[]) AS node,
    unnest($attribute::INTEGER[])::USMALLINT AS attribute,
    unnest($cut::INTEGER[]) AS cut,
    unnest($categories::INTEGER[][]) AS categories,
    unnest($nulls::INTEGER[]) AS nulls,
    unnest($null_left::BOOLEAN[]) AS null_left,
    unnest($left_node::INTEGER[]) AS left_node,
    unnest($right_node::INTEGER[]) AS right_node,
    unnest($left_settled::BOOLEAN[]) AS left_settled,
    unnest($right_settled::BOOLEAN[]) AS right_settled,
    unnest($settled_from::INTEGER[]) AS settled_from,
    unnest($first_bin::BIGINT[]) AS first_bin;
