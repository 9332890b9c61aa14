-- equivalence_classes | in: - | out: ppdm_equivalence_classes | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_equivalence_classes('policies', ['Age', 'Gender'])
-- The equivalence classes of a quasi-identifier, each with its number of records.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648.
CREATE OR REPLACE MACRO ppdm_equivalence_classes(tbl, qi, person := NULL) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM query_table(
        CASE
            WHEN tbl IS NULL THEN error('No table is named in tbl.')
            WHEN typeof(qi) <> 'VARCHAR[]' OR coalesce(len(TRY_CAST(qi AS VARCHAR[])), 0) = 0
                THEN error('No column is in qi: give a list of names, such as [''Age'', ''Sex''].')
            WHEN list_contains([c IS NULL FOR c IN TRY_CAST(qi AS VARCHAR[])], TRUE)
                THEN error('A name in qi is NULL.')
            WHEN len(list_distinct([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])])) < len(TRY_CAST(qi AS VARCHAR[]))
                THEN error('A column is in qi twice: ' || array_to_string([
                    c FOR c IN TRY_CAST(qi AS VARCHAR[])
                    IF len([d FOR d IN TRY_CAST(qi AS VARCHAR[]) IF lower(d) = lower(c)]) > 1
                ], ', '))
            WHEN person IS NOT NULL AND typeof(person) <> 'VARCHAR'
                THEN error('One column is needed as person: give its name, such as ''patient''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])], lower(TRY_CAST(person AS VARCHAR)))
                THEN error('The person column is in qi, too: ' || TRY_CAST(person AS VARCHAR))
            ELSE tbl
        END
    )
)
SELECT
    COLUMNS(qi),
    count(*) AS records
FROM source
WHERE person IS NULL
GROUP BY ALL
UNION ALL
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    count(*) AS records
FROM (
    SELECT DISTINCT
        COLUMNS(qi) AS 'q_\0',
        coalesce(COLUMNS([coalesce(person, qi[1])]), error('A person is NULL in column ' || person)) AS who
    FROM source
    WHERE person IS NOT NULL
)
GROUP BY ALL;
