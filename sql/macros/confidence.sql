-- confidence | in: - | out: ppdm_confidence | grain: one row per combination of the columns of ic with a sensitive value | params: -
-- FROM ppdm_confidence('policies', ['Age', 'Gender'], 'Amount')
-- How surely the columns of ic tell each sensitive value: its records in a class over all records of the class.
-- Source: Wang, Fung, Yu 2005, Definition 3.1.
CREATE OR REPLACE MACRO ppdm_confidence(tbl, ic, sensitive, person := NULL) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM checked_rows(tbl, ic, 'ic', sensitive, 'sensitive', person)
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
