-- counted_cells | in: - | out: counted_cells | grain: one row per class and value | params: -
-- The sensitive values of each class, with the records, or persons, that have them. Who has several values is counted with
-- each, and with the first of them in the class, in the table and of the value in the table.
CREATE OR REPLACE TEMP MACRO counted_cells(tbl, qi, qi_name, sensitive, sensitive_name, person) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM checked_rows(tbl, qi, qi_name, sensitive, sensitive_name, person)
)
SELECT
    COLUMNS(qi) AS 'q_\0',
    COLUMNS([sensitive]) AS value,
    count(*) AS records,
    count(*) AS first_of_class,
    count(*) AS first_of_value,
    count(*) AS first_of_table
FROM source
WHERE person IS NULL
GROUP BY ALL
UNION ALL
SELECT
    COLUMNS('(?s)^q_.*'),
    value,
    count(*) AS records,
    count(*) FILTER (turn_of_class = 1) AS first_of_class,
    count(*) FILTER (turn_of_value = 1) AS first_of_value,
    count(*) FILTER (turn_of_table = 1) AS first_of_table
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY who, value) AS turn_of_value,
        row_number() OVER (PARTITION BY who) AS turn_of_table
    FROM (
        SELECT
            COLUMNS('(?s)^q_.*'),
            who,
            unnest(range(1, len("values") + 1)) AS turn_of_class,
            unnest("values") AS value
        FROM (
            SELECT
                COLUMNS(qi) AS 'q_\0',
                coalesce(COLUMNS([coalesce(person, qi[1])]), error('A person is NULL in column ' || person)) AS who,
                list(DISTINCT COLUMNS([sensitive])) AS "values"
            FROM source
            WHERE person IS NOT NULL
            GROUP BY ALL
        )
    )
)
GROUP BY ALL;
