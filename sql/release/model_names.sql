-- model_names | in: ppdm.models | out: model_names | grain: one row per model | params: -
SELECT m.model
FROM ppdm.models AS m;
