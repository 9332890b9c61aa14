-- standing | in: - | out: standing | grain: one row per macro, table or view | params: names VARCHAR[]
-- Macros of the two schemas in which macros are installed, and tables and views that are called like one of them.
SELECT
    f.schema_name,
    f.function_name AS name,
    f.function_type AS kind,
    f.comment
FROM duckdb_functions() AS f
WHERE f.function_type IN ('macro', 'table_macro')
    AND f.database_name = current_catalog()
    AND f.schema_name IN ('ppdm', 'main')
    AND NOT f.internal
UNION ALL
SELECT
    t.schema_name,
    t.table_name AS name,
    'table' AS kind,
    NULL AS comment
FROM duckdb_tables() AS t
WHERE t.database_name = current_catalog()
    AND t.schema_name IN ('ppdm', 'main')
    AND list_contains($names, lower(t.table_name))
UNION ALL
SELECT
    v.schema_name,
    v.view_name AS name,
    'view' AS kind,
    NULL AS comment
FROM duckdb_views() AS v
WHERE v.database_name = current_catalog()
    AND v.schema_name IN ('ppdm', 'main')
    AND list_contains($names, lower(v.view_name));
