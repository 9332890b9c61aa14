-- macros_in_use | in: - | out: macros_in_use | grain: one row per macro | params: name VARCHAR
-- Macros of this name, in any spelling of case.
SELECT f.function_name
FROM duckdb_functions() AS f
WHERE f.function_type IN ('macro', 'table_macro')
    AND f.database_name IN (current_catalog(), 'temp')
    AND lower(f.function_name) = lower($name);
