-- column_profile | in: column_values | out: column_profile | grain: one row | params: sample INTEGER
-- How many values a column has, and how many records are alone with theirs; NULL is a value there. Beside that, what
-- a sample of its values looks like: those with the least hashes, so that the same table gives the same sample.
WITH counts AS MATERIALIZED (
    SELECT
        count(v.value) AS "values",
        CAST(coalesce(sum(v.records), 0) AS HUGEINT) AS records,
        CAST(coalesce(sum(v.records) FILTER (v.value IS NULL), 0) AS HUGEINT) AS nulls,
        count(*) FILTER (v.records = 1) AS alone,
        arg_min(v.value, hash(v.value), param('sample')) FILTER (v.value IS NOT NULL) AS sampled
    FROM column_values AS v
),
texts AS (
    SELECT
        CAST(unnest(c.sampled) AS VARCHAR) AS text
    FROM counts AS c
)
SELECT
    c.records,
    c."values",
    c.nulls,
    c.alone,
    s.*
FROM counts AS c
CROSS JOIN (
    SELECT
        avg(CAST(length(t.text) = mode_length AS INTEGER)) AS of_one_length,
        avg(CAST(regexp_full_match(
            t.text,
            '[^@\s]+@[^@\s]+\.[^@\s]+'
            || '|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'
            || '|[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7} ?[A-Z0-9]{0,3}'
            || '|[0-9]{1,3}(\.[0-9]{1,3}){3}'
            || '|[0-9]{3}-[0-9]{2}-[0-9]{4}'
            || '|(\+|00)[1-9][0-9 ()/.-]{6,}'
            || '|https?://\S+'
        ) AS INTEGER)) AS identifying,
        avg(CAST(
            TRY_CAST(t.text AS TIMESTAMP) IS NOT NULL
            OR regexp_full_match(t.text, '[0-9]{1,2}([./-])[0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})')
        AS INTEGER)) AS dates,
        avg(CAST(regexp_full_match(t.text, '[+-]?(0|[1-9][0-9]*)([.,][0-9]+)?') AS INTEGER)) AS numbers,
        avg(CAST(regexp_full_match(t.text, '[+-]?[0-9]+([.]0+)?') AS INTEGER)) AS whole,
        avg(CAST(regexp_full_match(t.text, '0[0-9]+') AS INTEGER)) AS leading_zeros,
        avg(CAST(
            regexp_full_match(t.text, '[A-Za-z0-9][A-Za-z0-9._/-]{0,19}') AND regexp_matches(t.text, '[0-9]')
        AS INTEGER)) AS codes,
        avg(CAST(regexp_matches(t.text, '\S+\s+\S+\s+\S+\s+\S+') AS INTEGER)) AS sentences
    FROM (
        SELECT
            x.text,
            mode(length(x.text)) OVER () AS mode_length
        FROM texts AS x
    ) AS t
) AS s;
