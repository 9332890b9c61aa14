-- model_names | in: ppdm.models | out: model_names | grain: one row per model | params: -
-- The names of the stored decision trees.
SELECT m.model
FROM ppdm.models AS m;
