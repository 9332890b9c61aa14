-- checked_rows | in: - | out: checked_rows | grain: one row per row of tbl | params: -
-- What every macro reads: the rows of a table, once the names of columns have been checked. It is written into each macro
-- in the place of a call as it is installed; qi_name and sensitive_name are what the macro calls its arguments.
CREATE OR REPLACE TEMP MACRO checked_rows(tbl, qi, qi_name, sensitive, sensitive_name, person) AS TABLE
SELECT *
FROM query_table(
    CASE
        WHEN tbl IS NULL THEN error('No table is named in tbl.')
        WHEN typeof(qi) <> 'VARCHAR[]' OR coalesce(len(TRY_CAST(qi AS VARCHAR[])), 0) = 0
            THEN error('No column is in ' || qi_name || ': give a list of names, such as [''Age'', ''Sex''].')
        WHEN list_contains([c IS NULL FOR c IN TRY_CAST(qi AS VARCHAR[])], TRUE)
            THEN error('A name in ' || qi_name || ' is NULL.')
        WHEN len(list_distinct([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])])) < len(TRY_CAST(qi AS VARCHAR[]))
            THEN error('A column is in ' || qi_name || ' twice: ' || array_to_string([
                c FOR c IN TRY_CAST(qi AS VARCHAR[])
                IF len([d FOR d IN TRY_CAST(qi AS VARCHAR[]) IF lower(d) = lower(c)]) > 1
            ], ', '))
        WHEN sensitive_name IS NOT NULL AND (typeof(sensitive) <> 'VARCHAR' OR sensitive IS NULL)
            THEN error('One column is needed as ' || sensitive_name || ': give its name, such as ''Amount''.')
        WHEN list_contains([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])], lower(TRY_CAST(sensitive AS VARCHAR)))
            THEN error('The ' || sensitive_name || ' column is in ' || qi_name || ', too: ' || TRY_CAST(sensitive AS VARCHAR))
        WHEN person IS NOT NULL AND typeof(person) <> 'VARCHAR'
            THEN error('One column is needed as person: give its name, such as ''patient''.')
        WHEN list_contains([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])], lower(TRY_CAST(person AS VARCHAR)))
            THEN error('The person column is in ' || qi_name || ', too: ' || TRY_CAST(person AS VARCHAR))
        WHEN lower(TRY_CAST(person AS VARCHAR)) = lower(TRY_CAST(sensitive AS VARCHAR))
            THEN error('The person column is the ' || sensitive_name || ' one, too: ' || TRY_CAST(person AS VARCHAR))
        ELSE tbl
    END
);
