-- table_comment | in: - | out: table_comment | grain: one row, or none where there is no such table | params: catalog, schema, name
-- What is said of a table.
SELECT t.comment
FROM duckdb_tables() AS t
WHERE t.database_name = $catalog
    AND t.schema_name = $schema
    AND t.table_name = $name;
