-- identifiable | in: - | out: ppdm_identifiable | grain: one row per combination of the columns of by | params: -
-- FROM ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount')
-- Whose confidential value the other columns give away: records that are alone with their class, or all alike in it.
-- Source: Li, Sarkar 2004, Definition 2.
CREATE OR REPLACE MACRO ppdm_identifiable(tbl, "by", confidential, person := NULL) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM query_table(
        CASE
            WHEN tbl IS NULL THEN error('No table is named in tbl.')
            WHEN typeof("by") <> 'VARCHAR[]' OR coalesce(len(TRY_CAST("by" AS VARCHAR[])), 0) = 0
                THEN error('No column is in by: give a list of names, such as [''Age'', ''Sex''].')
            WHEN list_contains([c IS NULL FOR c IN TRY_CAST("by" AS VARCHAR[])], TRUE)
                THEN error('A name in by is NULL.')
            WHEN len(list_distinct([lower(c) FOR c IN TRY_CAST("by" AS VARCHAR[])])) < len(TRY_CAST("by" AS VARCHAR[]))
                THEN error('A column is in by twice: ' || array_to_string([
                    c FOR c IN TRY_CAST("by" AS VARCHAR[])
                    IF len([d FOR d IN TRY_CAST("by" AS VARCHAR[]) IF lower(d) = lower(c)]) > 1
                ], ', '))
            WHEN typeof(confidential) <> 'VARCHAR' OR confidential IS NULL
                THEN error('One column is needed as confidential: give its name, such as ''Amount''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST("by" AS VARCHAR[])], lower(TRY_CAST(confidential AS VARCHAR)))
                THEN error('The confidential column is in by, too: ' || TRY_CAST(confidential AS VARCHAR))
            WHEN person IS NOT NULL AND typeof(person) <> 'VARCHAR'
                THEN error('One column is needed as person: give its name, such as ''patient''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST("by" AS VARCHAR[])], lower(TRY_CAST(person AS VARCHAR)))
                THEN error('The person column is in by, too: ' || TRY_CAST(person AS VARCHAR))
            WHEN lower(TRY_CAST(person AS VARCHAR)) = lower(TRY_CAST(confidential AS VARCHAR))
                THEN error('The person column is the confidential one, too: ' || TRY_CAST(person AS VARCHAR))
            ELSE tbl
        END
    )
)
SELECT
    COLUMNS("by"),
    count(*) AS records,
    CASE
        WHEN count(*) = 1 THEN 'uniquely'
        WHEN min(COLUMNS([confidential])) IS DISTINCT FROM max(COLUMNS([confidential]))
            OR count(COLUMNS([confidential])) NOT IN (0, count(*)) THEN 'unidentifiable'
        ELSE 'collectively'
    END AS status
FROM source
WHERE person IS NULL
GROUP BY ALL
UNION ALL
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    count(*) AS records,
    CASE
        WHEN count(*) = 1 THEN 'uniquely'
        WHEN min(least_value) IS DISTINCT FROM max(greatest_value)
            OR sum(rows_with_value) NOT IN (0, sum(person_rows)) THEN 'unidentifiable'
        ELSE 'collectively'
    END AS status
FROM (
    SELECT
        COLUMNS("by") AS 'q_\0',
        coalesce(COLUMNS([coalesce(person, "by"[1])]), error('A person is NULL in column ' || person)) AS who,
        min(COLUMNS([confidential])) AS least_value,
        max(COLUMNS([confidential])) AS greatest_value,
        count(COLUMNS([confidential])) AS rows_with_value,
        count(*) AS person_rows
    FROM source
    WHERE person IS NOT NULL
    GROUP BY ALL
)
GROUP BY ALL;
