-- identifiable | in: - | out: ppdm_identifiable | grain: one row per combination of the columns of by | params: -
-- FROM ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount')
-- Whose confidential value the other columns give away: records that are alone with their class, or all alike in it.
-- Source: Li, Sarkar 2004, Definition 2.
CREATE OR REPLACE MACRO ppdm_identifiable(tbl, "by", confidential, person := NULL) AS TABLE
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(sum(first_of_class) AS BIGINT) AS records,
    CASE
        WHEN sum(first_of_class) = 1 THEN 'uniquely'
        WHEN count(*) > 1 THEN 'unidentifiable'
        ELSE 'collectively'
    END AS status
FROM counted_cells(tbl, "by", 'by', confidential, 'confidential', person)
GROUP BY ALL;
