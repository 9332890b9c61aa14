-- text_kinds | in: texts | out: text_kinds | grain: one row per column and kind | params: -
-- What the values of columns of texts are written like, and how many records hold each kind. Of a number or a date, the
-- kind says whether it is written as DuckDB writes it, so that the type loses nothing, such as a leading zero.
WITH counted AS (
    SELECT
        t.name,
        -- Long texts that begin with a letter are not told apart, as they can be nothing else.
        if(
            unicode(t.value) BETWEEN unicode('+') AND unicode('9')
                OR unicode(t.value) IN (unicode('$'), unicode('£'), unicode('€'))
                OR length(t.value) <= 5,
            t.value,
            ''
        ) AS value,
        count(*) AS records
    FROM texts AS t
    WHERE t.value IS NOT NULL
    GROUP BY ALL
),
sorted AS (
    SELECT
        c.name,
        c.records,
        CASE
            WHEN NOT unicode(c.value) BETWEEN unicode('+') AND unicode('9')
                AND unicode(c.value) NOT IN (unicode('$'), unicode('£'), unicode('€'))
                THEN if(lower(c.value) IN ('true', 'false'), 'truth value', 'text')
            WHEN CAST(TRY_CAST(c.value AS BIGINT) AS VARCHAR) = c.value
                THEN if(length(ltrim(c.value, '-')) <= 15, 'whole number', 'long whole')
            WHEN regexp_full_match(c.value, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?')
                AND isfinite(TRY_CAST(c.value AS DOUBLE))
                AND (
                    length(c.value) <= 15
                    OR length(regexp_replace(c.value, '[eE].*|[^0-9]', '', 'g')) <= 15
                    OR CAST(TRY_CAST(c.value AS DOUBLE) AS VARCHAR) = c.value
                )
                THEN 'number'
            WHEN regexp_full_match(c.value, '[+-]?[0-9]+') AND TRY_CAST(c.value AS BIGINT) IS NOT NULL
                THEN 'lossy whole'
            WHEN regexp_full_match(c.value, '[+-]?([0-9]+|[0-9]*[.][0-9]+)([eE][+-]?[0-9]+)?')
                THEN 'lossy number'
            WHEN regexp_full_match(c.value, '[0-9]{4}-[0-9]{2}-[0-9]{2}') AND TRY_CAST(c.value AS DATE) IS NOT NULL
                THEN 'date'
            WHEN regexp_full_match(
                    c.value,
                    '[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?'
                ) AND TRY_CAST(c.value AS TIMESTAMP) IS NOT NULL
                THEN 'time stamp'
            WHEN regexp_full_match(c.value, '[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?')
                AND TRY_CAST(c.value AS TIME) IS NOT NULL
                THEN 'time'
            WHEN regexp_full_match(
                    c.value,
                    '(([0-9]{1,2}[-./]){2}([0-9]{2}|[0-9]{4})|[0-9]{4}([-./][0-9]{1,2}){2})([ T][0-9]{1,2}(:[0-9]{2}){1,2})?'
                )
                THEN 'other date'
            WHEN regexp_full_match(
                    c.value,
                    '[+-]?([$£€] ?)?(([0-9]+|[0-9]{1,3}([. ''][0-9]{3})+),[0-9]+|[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?)( ?[$£€])?'
                )
                OR regexp_full_match(c.value, '[+-]?([$£€] ?[0-9]+([.][0-9]+)?|[0-9]+([.][0-9]+)? ?[$£€])')
                THEN 'formatted number'
            ELSE 'text'
        END AS kind
    FROM counted AS c
)
SELECT
    s.name,
    s.kind,
    CAST(sum(s.records) AS BIGINT) AS records
FROM sorted AS s
GROUP BY s.name, s.kind
ORDER BY s.name, s.kind;
