-- confidence | in: - | out: ppdm_confidence | grain: one row per combination of the columns of ic with a sensitive value | params: -
-- FROM ppdm_confidence('policies', ['Age', 'Gender'], 'Amount')
-- How surely the columns of ic tell each sensitive value: its records in a class over all records of the class.
-- Source: Wang, Fung, Yu 2005, Definition 3.1.
CREATE OR REPLACE MACRO ppdm_confidence(tbl, ic, sensitive, person := NULL) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM query_table(
        CASE
            WHEN tbl IS NULL THEN error('No table is named in tbl.')
            WHEN typeof(ic) <> 'VARCHAR[]' OR coalesce(len(TRY_CAST(ic AS VARCHAR[])), 0) = 0
                THEN error('No column is in ic: give a list of names, such as [''Age'', ''Sex''].')
            WHEN list_contains([c IS NULL FOR c IN TRY_CAST(ic AS VARCHAR[])], TRUE)
                THEN error('A name in ic is NULL.')
            WHEN len(list_distinct([lower(c) FOR c IN TRY_CAST(ic AS VARCHAR[])])) < len(TRY_CAST(ic AS VARCHAR[]))
                THEN error('A column is in ic twice: ' || array_to_string([
                    c FOR c IN TRY_CAST(ic AS VARCHAR[])
                    IF len([d FOR d IN TRY_CAST(ic AS VARCHAR[]) IF lower(d) = lower(c)]) > 1
                ], ', '))
            WHEN typeof(sensitive) <> 'VARCHAR' OR sensitive IS NULL
                THEN error('One column is needed as sensitive: give its name, such as ''Amount''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST(ic AS VARCHAR[])], lower(TRY_CAST(sensitive AS VARCHAR)))
                THEN error('The sensitive column is in ic, too: ' || TRY_CAST(sensitive AS VARCHAR))
            WHEN person IS NOT NULL AND typeof(person) <> 'VARCHAR'
                THEN error('One column is needed as person: give its name, such as ''patient''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST(ic AS VARCHAR[])], lower(TRY_CAST(person AS VARCHAR)))
                THEN error('The person column is in ic, too: ' || TRY_CAST(person AS VARCHAR))
            WHEN lower(TRY_CAST(person AS VARCHAR)) = lower(TRY_CAST(sensitive AS VARCHAR))
                THEN error('The person column is the sensitive one, too: ' || TRY_CAST(person AS VARCHAR))
            ELSE tbl
        END
    )
),
cells AS (
    SELECT
        COLUMNS(ic) AS 'q_\0',
        COLUMNS([sensitive]) AS 's_\0',
        count(*) AS records,
        count(*) AS first_of_class
    FROM source
    WHERE person IS NULL
    GROUP BY ALL
    UNION ALL
    SELECT
        COLUMNS('(?s)^[qs]_.*'),
        count(*) AS records,
        count(*) FILTER (turn_of_class = 1) AS first_of_class
    FROM (
        SELECT
            COLUMNS('(?s)^q_.*'),
            unnest(range(1, len(COLUMNS('(?s)^s_.*')) + 1)) AS turn_of_class,
            unnest(COLUMNS('(?s)^s_.*'))
        FROM (
            SELECT
                COLUMNS(ic) AS 'q_\0',
                coalesce(COLUMNS([coalesce(person, ic[1])]), error('A person is NULL in column ' || person)) AS who,
                list(DISTINCT COLUMNS([sensitive])) AS 's_\0'
            FROM source
            WHERE person IS NOT NULL
            GROUP BY ALL
        )
    )
    GROUP BY ALL
),
classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        list(struct_pack(*COLUMNS('(?s)^s_.*'), records := records)) AS "values",
        CAST(sum(first_of_class) AS BIGINT) AS class_records
    FROM cells
    GROUP BY ALL
),
counted_values AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        unnest("values", max_depth := 2),
        class_records
    FROM classes
)
SELECT
    COLUMNS('(?s)^[qs]_(.*)$') AS '\1',
    records,
    class_records,
    CAST(records AS DOUBLE) / class_records AS confidence
FROM counted_values;
