-- confidence | in: - | out: ppdm_confidence | grain: one row per combination of the columns of ic with a sensitive value | params: -
-- FROM ppdm_confidence('policies', ['Age', 'Gender'], 'Amount')
-- How surely the columns of ic tell each sensitive value: its records in a class over all records of the class.
-- Source: Wang, Fung, Yu 2005, Definition 3.1.
CREATE OR REPLACE MACRO ppdm_confidence(tbl, ic, sensitive, person := NULL) AS TABLE
SELECT -- no row, and the names of the columns
    COLUMNS(ic),
    COLUMNS([sensitive]),
    0 AS records,
    CAST(0 AS BIGINT) AS class_records,
    CAST(0 AS DOUBLE) AS confidence
FROM checked_rows(tbl, ic, 'ic', sensitive, 'sensitive', person)
WHERE FALSE
UNION ALL
SELECT
    COLUMNS('(?s)^q_.*'),
    v.value,
    v.records,
    class_records,
    CAST(v.records AS DOUBLE) / class_records
FROM (
    SELECT
        COLUMNS('(?s)^q_.*'),
        class_records,
        unnest("values") AS v
    FROM (
        SELECT
            COLUMNS('(?s)^q_.*'),
            CAST(sum(first_of_class) AS BIGINT) AS class_records,
            list({'value': value, 'records': records}) AS "values"
        FROM counted_cells(tbl, ic, 'ic', sensitive, 'sensitive', person)
        GROUP BY ALL
    )
);
