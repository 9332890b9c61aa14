-- insert_nodes | in: - | out: ppdm.nodes | grain: one row per node | params: model, parent, side, depth, attribute, cut, categories, null_left, counts, predicted
-- Records the nodes of the tree.
INSERT INTO ppdm.nodes
SELECT
    $model AS model,
    unnest(range(len(CAST($depth AS INTEGER[])))) AS node,
    unnest(CAST($parent AS INTEGER[])) AS parent,
    unnest(CAST($side AS VARCHAR[])) AS side,
    unnest(CAST($depth AS INTEGER[])) AS depth,
    unnest(CAST($attribute AS VARCHAR[])) AS attribute,
    unnest(CAST($cut AS DOUBLE[])) AS cut,
    unnest(CAST($categories AS VARCHAR[][])) AS categories,
    unnest(CAST($null_left AS BOOLEAN[])) AS null_left,
    unnest(CAST($counts AS BIGINT[][])) AS counts,
    unnest(CAST($predicted AS VARCHAR[])) AS predicted;
