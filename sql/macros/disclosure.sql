-- disclosure | in: - | out: ppdm_disclosure | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_disclosure('policies', ['Gender'], 'Amount')
-- How much more or less frequent a sensitive value is in a class than in the table, at most, in powers of 2.
-- Source: Brickell, Shmatikov 2008, doi:10.1145/1401890.1401904.
CREATE OR REPLACE MACRO ppdm_disclosure(tbl, qi, sensitive, person := NULL) AS TABLE
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
cells AS MATERIALIZED (
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
    GROUP BY ALL
),
classes AS (
    SELECT
        COLUMNS('(?s)^q_.*'),
        CAST(sum(c.first_of_class) AS HUGEINT) AS class_records,
        list({'records': c.records, 'value_records': t.value_records, 'table_records': t.table_records}) AS "values"
    FROM cells AS c
    INNER JOIN (
        SELECT
            v.value,
            sum(v.first_of_value) AS value_records,
            sum(sum(v.first_of_table)) OVER () AS table_records
        FROM cells AS v
        GROUP BY v.value
    ) AS t
        ON c.value IS NOT DISTINCT FROM t.value
    GROUP BY ALL
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(class_records AS BIGINT) AS records,
    CASE
        WHEN len("values") < (
            SELECT count(*)
            FROM (SELECT DISTINCT value FROM cells)
        ) THEN CAST('Infinity' AS DOUBLE)
        ELSE list_max(list_transform("values", lambda v: abs(log2(
            CAST(v.records * v.table_records AS DOUBLE) / CAST(v.value_records * class_records AS DOUBLE)
        ))))
    END AS delta
FROM classes;
