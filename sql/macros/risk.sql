-- risk | in: - | out: ppdm_risk | grain: one row | params: -
-- FROM ppdm_risk('policies', ['Age', 'Gender'])
-- The size k of the smallest class, and the risk in [0, 1] that a record is found by its quasi-identifier.
-- Source: El Emam, Dankar 2008, doi:10.1197/jamia.M2716; Dankar, El Emam 2010 (marketer).
CREATE OR REPLACE MACRO ppdm_risk(tbl, qi, person := NULL) AS TABLE
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
classes AS (
    SELECT
        COLUMNS(qi) AS 'q_\0',
        count(*) AS records
    FROM source
    WHERE person IS NULL
    GROUP BY ALL
    UNION ALL
    SELECT
        COLUMNS('(?s)^q_.*'),
        count(*) AS records
    FROM (
        SELECT DISTINCT
            COLUMNS(qi) AS 'q_\0',
            coalesce(COLUMNS([coalesce(person, qi[1])]), error('A person is NULL in column ' || person)) AS who
        FROM source
        WHERE person IS NOT NULL
    )
    GROUP BY ALL
)
SELECT
    CAST(coalesce(sum(records), 0) AS BIGINT) AS records,
    count(*) AS classes,
    min(records) AS k,
    avg(records) AS average_class,
    count(*) FILTER (WHERE records = 1) AS unique_records,
    1 / CAST(min(records) AS DOUBLE) AS prosecutor_highest,
    count(*) / CAST(sum(records) AS DOUBLE) AS prosecutor_average,
    count(*) / CAST(sum(records) AS DOUBLE) AS marketer
FROM classes;
