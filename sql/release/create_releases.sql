-- create_releases | in: - | out: ppdm.releases | grain: one row per release | params: -
-- How each release was made, and of what. No keys: their indexes cost time and storage, and names are checked before.
CREATE TABLE IF NOT EXISTS ppdm.releases (
    release VARCHAR,
    method VARCHAR,
    source VARCHAR,
    requirements VARCHAR[],
    parameters JSON,
    rows BIGINT,
    verified BOOLEAN,
    stopped VARCHAR,
    created_at TIMESTAMP,
    version VARCHAR
);
