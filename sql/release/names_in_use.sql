-- names_in_use | in: - | out: names_in_use | grain: one row per table or view | params: name VARCHAR
-- Tables and views that a release of this name could meet, in any spelling of case, those of the catalogue among them;
-- and a database called ppdm, beside which nobody could read the schema ppdm without naming the file.
SELECT
    t.database_name,
    t.schema_name,
    t.table_name AS name
FROM duckdb_tables() AS t
WHERE t.database_name IN (current_catalog(), 'temp')
    AND lower(t.table_name) IN (lower($name), lower('release_' || $name), 'releases', 'models', 'release_report')
UNION ALL
SELECT
    v.database_name,
    v.schema_name,
    v.view_name AS name
FROM duckdb_views() AS v
WHERE v.database_name IN (current_catalog(), 'temp')
    AND lower(v.view_name) IN (lower($name), 'release_report')
UNION ALL
SELECT
    d.database_name,
    NULL AS schema_name,
    NULL AS name
FROM duckdb_databases() AS d
WHERE lower(d.database_name) = 'ppdm';
