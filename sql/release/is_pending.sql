-- is_pending | in: - | out: is_pending | grain: one row | params: -
-- Whether anything may have been left behind: the table is there only while it has rows.
SELECT count(*) > 0 AS is_pending
FROM duckdb_tables() AS t
WHERE t.database_name = current_catalog()
    AND t.schema_name = 'ppdm'
    AND t.table_name = 'pending';
