-- kept_tables | in: - | out: kept_tables | grain: one row per table of messages | params: -
-- Those of the tables of messages that the current database has.
SELECT t.table_name AS part
FROM duckdb_tables() AS t
WHERE t.database_name = current_catalog()
    AND t.schema_name = 'ppdm'
    AND t.table_name IN ('unfinished', 'transcripts');
