-- stable_tables | in: - | out: stable_tables | grain: one row | params: name VARCHAR, schema VARCHAR, catalog VARCHAR
-- Whether a name is that of a table of a DuckDB database whose columns are all stored: a transaction sees it as it was.
SELECT
    count(*) > 0 AS stable
FROM duckdb_tables() AS t
INNER JOIN duckdb_databases() AS d
    ON t.database_name = d.database_name
WHERE d.type = 'duckdb'
    AND t.table_name = $name
    AND t.schema_name = coalesce($schema, current_schema())
    AND t.database_name = coalesce($catalog, current_catalog())
    AND NOT contains(upper(t.sql), 'GENERATED ALWAYS');
