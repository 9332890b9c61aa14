-- identifiable | in: - | out: ppdm_identifiable | grain: one row per combination of the columns of by | params: -
-- FROM ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount')
-- Whose confidential value the other columns give away: records that are alone with their class, or all alike in it.
-- Source: Li, Sarkar 2004, Definition 2.
CREATE OR REPLACE MACRO ppdm_identifiable(tbl, "by", confidential, person := NULL) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM checked_rows(tbl, "by", 'by', confidential, 'confidential', person)
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
