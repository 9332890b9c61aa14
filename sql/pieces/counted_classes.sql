-- counted_classes | in: - | out: counted_classes | grain: one row per combination of the columns of qi | params: -
-- The classes of a quasi-identifier, whose columns get the prefix q_, with their records; or with their persons, each of
-- whom is in a class once.
CREATE OR REPLACE TEMP MACRO counted_classes(tbl, qi, qi_name, person) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM checked_rows(tbl, qi, qi_name, NULL, NULL, person)
)
SELECT
    COLUMNS(qi) AS 'q_\0',
    count(*) AS records
FROM source
WHERE person IS NULL
GROUP BY ALL
UNION ALL
SELECT
    COLUMNS('(?s)^q_.*'),
    count(*) AS records
FROM (
    SELECT DISTINCT
        COLUMNS(qi) AS 'q_\0',
        coalesce(COLUMNS([coalesce(person, qi[1])]), error('A person is NULL in column ' || person)) AS who
    FROM source
    WHERE person IS NOT NULL
)
GROUP BY ALL;
