-- column_comments | in: - | out: column_comments | grain: one row per column with a comment | params: catalog VARCHAR, schema VARCHAR, name VARCHAR
-- What the comments on a table's or view's columns say.
SELECT
    c.column_name,
    c.comment
FROM duckdb_columns() AS c
WHERE c.database_name = $catalog
    AND c.schema_name = $schema
    AND c.table_name = $name
    AND c.comment IS NOT NULL
ORDER BY c.column_index;
