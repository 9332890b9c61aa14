-- minimal_uniques | in: - | out: ppdm_minimal_uniques | grain: one row per record and smallest set of columns by which it is alone | params: -
-- FROM ppdm_minimal_uniques('policies', ['Age', 'Gender', 'Location'])
-- The minimal sample uniques of a table, of up to max_size columns (3 if none is given), each beside its record.
-- Source: Elliot, Manning, Mayes, Gurd, Bane 2005, SUDA: a program for detecting special uniques.
CREATE OR REPLACE MACRO ppdm_minimal_uniques(tbl, "columns", person := NULL, max_size := NULL) AS TABLE
WITH numbered AS MATERIALIZED (
    SELECT
        COLUMNS("columns") AS 'q_\0',
        row_number() OVER () AS record_number,
        CASE
            WHEN person IS NULL THEN CAST(row_number() OVER () AS VARCHAR)
            ELSE coalesce(
                CAST(COLUMNS([coalesce(person, "columns"[1])]) AS VARCHAR),
                error('A person is NULL in column ' || person)
            )
        END AS who
    FROM checked_rows(tbl, "columns", 'columns', NULL, NULL, person)
),
texts AS MATERIALIZED (
    SELECT
        record_number,
        who,
        list_value(*COLUMNS('(?s)^t_.*')) AS "values"
    FROM (
        SELECT
            record_number,
            who,
            CAST(COLUMNS('(?s)^q_.*') AS VARCHAR) AS 't_\0'
        FROM numbered
    )
),
alone AS (
    SELECT
        unnest(list(record_number)) AS record_number,
        chosen
    FROM texts
    CROSS JOIN (
        SELECT bits AS chosen
        FROM range(1, CAST(power(2, CASE
            WHEN len("columns") > 20 THEN error('More than 20 columns are in columns: their sets are too many.')
            ELSE len("columns")
        END) AS BIGINT)) AS r(bits)
        WHERE bit_count(bits) <= coalesce(max_size, 3)
    )
    GROUP BY
        chosen,
        list_filter("values", lambda v, i: (chosen >> (i - 1)) & 1 = 1)
    HAVING min(who) = max(who)
),
minimal AS (
    SELECT
        record_number,
        unnest(list_filter(sets, lambda s: len(list_filter(sets, lambda other: other <> s AND other & s = other)) = 0))
            AS chosen
    FROM (
        SELECT
            record_number,
            list(chosen) AS sets
        FROM alone
        GROUP BY record_number
    )
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    list_filter("columns", lambda c, i: (chosen >> (i - 1)) & 1 = 1) AS minimal_unique,
    CAST(factorial(CAST(len("columns") - bit_count(chosen) AS INTEGER)) AS DOUBLE) AS suda_score
FROM minimal
INNER JOIN numbered USING (record_number);
