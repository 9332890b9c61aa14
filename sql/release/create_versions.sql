-- create_versions | in: - | out: ppdm.versions | grain: one row per version of an updatable release | params: -
-- What each version is and what entered and left it; its rows stand in ppdm."version_N_NAME", those of the newest in the release.
CREATE TABLE IF NOT EXISTS ppdm.versions (
    release VARCHAR,
    version INTEGER,
    rows BIGINT,
    entered BIGINT,
    gone BIGINT,
    waiting BIGINT,
    shape JSON,
    created_at TIMESTAMP
);
