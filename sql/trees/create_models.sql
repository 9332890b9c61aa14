-- create_models | in: - | out: ppdm.models | grain: one row per model | params: -
-- A confusion matrix has a list for each class, with the tested records by predicted class.
CREATE TABLE IF NOT EXISTS ppdm.models (
    model VARCHAR,
    mode VARCHAR,
    source VARCHAR,
    class VARCHAR,
    classes VARCHAR[],
    rows BIGINT,
    parameters JSON,
    test VARCHAR,
    confusion BIGINT[][],
    created_at TIMESTAMP,
    version VARCHAR
);
