-- identifiable | in: - | out: ppdm_identifiable | grain: one row per pattern of the columns of by | params: -
-- FROM ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount'): whose confidential value is given away
-- by the other columns. NULL is a value like any other. A column that is missing or named twice is an error.
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
        WHEN coalesce(len("by"), 0) = 0 THEN error('No column is in by.')
        WHEN len(list_distinct([lower(c) FOR c IN "by"])) < len("by") THEN error('A column is in by twice.')
        WHEN list_contains([lower(c) FOR c IN "by"], lower(confidential))
            THEN error('The confidential column is in by, too.')
        ELSE tbl
    END
)
GROUP BY ALL;
