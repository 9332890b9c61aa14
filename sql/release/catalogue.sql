-- catalogue | in: - | out: catalogue | grain: one row, or none where nothing was published yet | params: -
SELECT current_catalog() AS catalog
FROM duckdb_tables() AS t
WHERE t.database_name = current_catalog()
    AND t.schema_name = 'ppdm'
    AND t.table_name = 'releases';
