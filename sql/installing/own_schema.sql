-- own_schema | in: - | out: own_schema | grain: one row, or none where there is no such schema | params: -
-- Whether the database has a schema ppdm of its own.
SELECT s.schema_name
FROM duckdb_schemas() AS s
WHERE s.database_name = current_catalog()
    AND s.schema_name = 'ppdm';
