-- delete_models | in: - | out: ppdm.models | grain: one row per model | params: model
-- Removes the model from the catalogue.
DELETE FROM ppdm.models AS m
WHERE m.model = $model;
