-- identifiable | in: - | out: ppdm_identifiable | grain: one row per combination of the columns of by | params: -
-- FROM ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount')
-- Whose confidential value the other columns give away: records that are alone with their class, or all alike in it.
-- Source: Li, Sarkar 2004, Definition 2.
CREATE OR REPLACE MACRO ppdm_identifiable(tbl, "by", confidential) AS TABLE
SELECT
    COLUMNS("by"),
    count(*) AS records,
    CASE
        WHEN count(*) = 1 THEN 'uniquely'
        WHEN min(COLUMNS([confidential])) IS DISTINCT FROM max(COLUMNS([confidential]))
            OR count(COLUMNS([confidential])) NOT IN (0, count(*)) THEN 'unidentifiable'
        ELSE 'collectively'
    END AS status
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
        ELSE tbl
    END
)
GROUP BY ALL;
