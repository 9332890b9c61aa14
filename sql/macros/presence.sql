-- presence | in: - | out: ppdm_presence | grain: one row per combination of the columns of qi in either table | params: -
-- FROM ppdm_presence('policies', ['Gender'], 'policies')
-- The records of a population in each class of a table, and the share of them that the table holds.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648 (k-map); Nergiz, Atzori, Clifton 2007, doi:10.1145/1247480.1247554.
CREATE OR REPLACE MACRO ppdm_presence(tbl, qi, population, person := NULL) AS TABLE
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
),
stacked_records AS (
    SELECT
        COLUMNS(qi) AS 'q_\0',
        1 AS of_table,
        0 AS of_population
    FROM source
    WHERE person IS NULL
    UNION ALL BY NAME
    SELECT
        COLUMNS('(?s)^q_.*'),
        1 AS of_table,
        0 AS of_population
    FROM (
        SELECT DISTINCT
            COLUMNS(qi) AS 'q_\0',
            coalesce(COLUMNS([coalesce(person, qi[1])]), error('A person is NULL in column ' || person)) AS who
        FROM source
        WHERE person IS NOT NULL
    )
    UNION ALL BY NAME
    SELECT
        COLUMNS(qi) AS 'q_\0',
        0 AS of_table,
        1 AS of_population
    FROM query_table(
        CASE
            WHEN population IS NULL THEN error('No table is named in population.')
            ELSE population
        END
    )
),
classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        CAST(sum(of_table) AS BIGINT) AS records,
        CAST(sum(of_population) AS BIGINT) AS population_records
    FROM stacked_records
    GROUP BY ALL
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    records,
    population_records,
    CASE WHEN population_records = 0 THEN CAST('Infinity' AS DOUBLE) ELSE records / population_records END AS presence
FROM classes;
