-- view_text | in: - | out: view_text | grain: one row, or none where there is no such view | params: catalog, schema, name
-- The statement that made the view.
SELECT v.sql
FROM duckdb_views() AS v
WHERE v.database_name = $catalog
    AND v.schema_name = $schema
    AND v.view_name = $name;
