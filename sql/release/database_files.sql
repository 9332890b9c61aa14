-- database_files | in: - | out: database_files | grain: one row per open database file | params: -
-- The files that are open.
SELECT d.path
FROM duckdb_databases() AS d
WHERE d.path IS NOT NULL;
