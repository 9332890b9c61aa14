-- table_definition | in: - | out: table_definition | grain: one row, or none where there is no such table | params: name VARCHAR, schema VARCHAR, catalog VARCHAR
-- The statement that defines a table, collations included.
SELECT t.sql AS definition
FROM duckdb_tables() AS t
WHERE t.table_name = $name
    AND t.schema_name = $schema
    AND t.database_name = $catalog;
