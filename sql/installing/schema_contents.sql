-- schema_contents | in: - | out: schema_contents | grain: one row per object of the schema ppdm | params: -
-- All that is in the schema ppdm; indexes go with their tables.
SELECT t.table_name AS name
FROM duckdb_tables() AS t
WHERE t.database_name = current_catalog()
    AND t.schema_name = 'ppdm'
UNION ALL
SELECT v.view_name AS name
FROM duckdb_views() AS v
WHERE v.database_name = current_catalog()
    AND v.schema_name = 'ppdm'
UNION ALL
SELECT f.function_name AS name
FROM duckdb_functions() AS f
WHERE f.database_name = current_catalog()
    AND f.schema_name = 'ppdm'
UNION ALL
SELECT s.sequence_name AS name
FROM duckdb_sequences() AS s
WHERE s.database_name = current_catalog()
    AND s.schema_name = 'ppdm'
UNION ALL
SELECT y.type_name AS name
FROM duckdb_types() AS y
WHERE y.database_name = current_catalog()
    AND y.schema_name = 'ppdm';
