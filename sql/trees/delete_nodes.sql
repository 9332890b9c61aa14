-- delete_nodes | in: - | out: ppdm.nodes | grain: one row per node | params: model
-- Removes the nodes of the model.
DELETE FROM ppdm.nodes AS n
WHERE n.model = $model;
