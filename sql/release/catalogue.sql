-- catalogue | in: - | out: catalogue | grain: one row per table of the catalogue that not every file has | params: -
-- Which tables of the catalogue are there: no releases before anything was published; no taxonomies in files written before there were any; the others on first use; pending only while it has rows.
SELECT t.table_name AS part
FROM duckdb_tables() AS t
WHERE t.database_name = current_catalog()
    AND t.schema_name = 'ppdm'
    AND t.table_name IN ('releases', 'taxonomies', 'models', 'transcripts', 'pending');
