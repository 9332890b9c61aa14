-- recursive_diversity | in: - | out: ppdm_recursive_diversity | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_recursive_diversity('policies', ['Gender'], 'Amount', 2)
-- The most frequent sensitive value of a class against the l-th and all rarer ones: it is (c, l)-diverse for every c above.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, definition 4.3, doi:10.1109/ICDE.2006.1.
CREATE OR REPLACE MACRO ppdm_recursive_diversity(tbl, qi, sensitive, l, person := NULL) AS TABLE
WITH source AS NOT MATERIALIZED (
    SELECT *
    FROM query_table(
        CASE
            WHEN tbl IS NULL THEN error('No table is named in tbl.')
            WHEN typeof(qi) <> 'VARCHAR[]' OR coalesce(len(TRY_CAST(qi AS VARCHAR[])), 0) = 0
                THEN error('No column is in qi: give a list of names, such as [''Age'', ''Sex''].')
            WHEN list_contains([c IS NULL FOR c IN TRY_CAST(qi AS VARCHAR[])], TRUE)
                THEN error('A name in qi is NULL.')
            WHEN len(list_distinct([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])])) < len(TRY_CAST(qi AS VARCHAR[]))
                THEN error('A column is in qi twice: ' || array_to_string([
                    c FOR c IN TRY_CAST(qi AS VARCHAR[])
                    IF len([d FOR d IN TRY_CAST(qi AS VARCHAR[]) IF lower(d) = lower(c)]) > 1
                ], ', '))
            WHEN typeof(sensitive) <> 'VARCHAR' OR sensitive IS NULL
                THEN error('One column is needed as sensitive: give its name, such as ''Amount''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])], lower(TRY_CAST(sensitive AS VARCHAR)))
                THEN error('The sensitive column is in qi, too: ' || TRY_CAST(sensitive AS VARCHAR))
            WHEN person IS NOT NULL AND typeof(person) <> 'VARCHAR'
                THEN error('One column is needed as person: give its name, such as ''patient''.')
            WHEN list_contains([lower(c) FOR c IN TRY_CAST(qi AS VARCHAR[])], lower(TRY_CAST(person AS VARCHAR)))
                THEN error('The person column is in qi, too: ' || TRY_CAST(person AS VARCHAR))
            WHEN lower(TRY_CAST(person AS VARCHAR)) = lower(TRY_CAST(sensitive AS VARCHAR))
                THEN error('The person column is the sensitive one, too: ' || TRY_CAST(person AS VARCHAR))
            ELSE tbl
        END
    )
),
cells AS (
    SELECT
        COLUMNS(qi) AS 'q_\0',
        COLUMNS([sensitive]) AS value,
        count(*) AS records,
        count(*) AS first_of_class
    FROM source
    WHERE person IS NULL
    GROUP BY ALL
    UNION ALL
    SELECT
        COLUMNS('(?s)^q_.*'),
        value,
        count(*) AS records,
        count(*) FILTER (turn_of_class = 1) AS first_of_class
    FROM (
        SELECT
            COLUMNS('(?s)^q_.*'),
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
    GROUP BY ALL
),
classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        CAST(sum(first_of_class) AS BIGINT) AS class_records,
        list_reverse_sort(list(records)) AS frequencies
    FROM cells
    GROUP BY ALL
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    class_records AS records,
    CASE
        WHEN l IS NULL OR l < 2 THEN error('l is below 2: give how many values are to be frequent, such as 2.')
        WHEN len(frequencies) < l THEN CAST('Infinity' AS DOUBLE)
        ELSE frequencies[1] / list_sum(frequencies[l:])
    END AS recursive_c
FROM classes;
