-- splits | in: - | out: splits | grain: one row per node | params: node INTEGER[], attribute INTEGER[], base BIGINT[], key BIGINT[], settled_from INTEGER[]
-- The nodes of a level that are split: by which attribute, the places of its cells, the keys of its bins, and
-- the code from which on cells are settled.
SELECT
    unnest($node::INTEGER[]) AS node,
    unnest($attribute::INTEGER[])::USMALLINT AS attribute,
    unnest($base::BIGINT[]) AS base,
    unnest($key::BIGINT[]) AS key,
    unnest($settled_from::INTEGER[]) AS settled_from;
