-- splits | in: - | out: splits | grain: one row per node | params: node INTEGER[], attribute INTEGER[], first_place BIGINT[], first_bin BIGINT[], settled_from INTEGER[]
-- The nodes of a level that are split: by which attribute, the places of its cells, its bins, and the code
-- from which on cells are settled.
SELECT
    unnest($node::INTEGER[]) AS node,
    unnest($attribute::INTEGER[])::USMALLINT AS attribute,
    unnest($first_place::BIGINT[]) AS first_place,
    unnest($first_bin::BIGINT[]) AS first_bin,
    unnest($settled_from::INTEGER[]) AS settled_from;
