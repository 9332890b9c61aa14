-- presence | in: - | out: ppdm_presence | grain: one row per combination of the columns of qi in either table | params: -
-- FROM ppdm_presence('policies', ['Gender'], 'policies')
-- The records of a population in each class of a table, and the share of them that the table holds.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648 (k-map); Nergiz, Atzori, Clifton 2007, doi:10.1145/1247480.1247554.
CREATE OR REPLACE MACRO ppdm_presence(tbl, qi, population, person := NULL) AS TABLE
WITH classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        CAST(sum(of_table) AS BIGINT) AS records,
        CAST(sum(of_population) AS BIGINT) AS population_records
    FROM (
        SELECT
            COLUMNS('(?s)^q_.*'),
            records AS of_table,
            0 AS of_population
        FROM counted_classes(tbl, qi, 'qi', person)
        UNION ALL BY NAME
        SELECT
            COLUMNS(qi) AS 'q_\0',
            0 AS of_table,
            1 AS of_population
        FROM query_table(
            CASE
                WHEN population IS NULL THEN error('No table is named in population.')
                ELSE population
            END
        )
    )
    GROUP BY ALL
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    records,
    population_records,
    CASE WHEN population_records = 0 THEN CAST('Infinity' AS DOUBLE) ELSE records / population_records END AS presence
FROM classes;
