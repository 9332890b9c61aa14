-- diversity | in: - | out: ppdm_diversity | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_diversity('policies', ['Age', 'Gender'], 'Amount')
-- Different sensitive values of a class, and the exponential of their entropy in nats.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, doi:10.1109/ICDE.2006.1.
CREATE OR REPLACE MACRO ppdm_diversity(tbl, qi, sensitive, person := NULL) AS TABLE
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
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(sum(first_of_class) AS BIGINT) AS records,
    count(*) AS distinct_l,
    round(exp(ln(sum(records)) - sum(records * ln(records)) / sum(records)), 12) AS entropy_l
FROM cells
GROUP BY ALL;
