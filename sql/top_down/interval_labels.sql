-- interval_labels | in: texts | out: interval_labels | grain: one row per attribute and node | params: interval_attribute INTEGER[], interval_node BIGINT[], interval_low BIGINT[], interval_high BIGINT[], interval_total BIGINT[], interval_first VARCHAR[], interval_after VARCHAR[], interval_symbol VARCHAR[], interval_bottom VARCHAR[], interval_top VARCHAR[], interval_above_bottom BIGINT[], interval_from_top BIGINT[]
-- Names the nodes of attributes in grown intervals. An interval holds the codes from low up to high, of total values, behind which
-- NULL stands; the column may have a range, or tails: then what begins or ends with all of one is open there.
WITH intervals AS (
    SELECT
        unnest(CAST($interval_attribute AS INTEGER[])) AS attribute,
        unnest(CAST($interval_node AS BIGINT[])) AS node,
        unnest(CAST($interval_low AS BIGINT[])) AS low,
        unnest(CAST($interval_high AS BIGINT[])) AS high,
        unnest(CAST($interval_total AS BIGINT[])) AS total,
        unnest(CAST($interval_first AS VARCHAR[])) AS first,
        unnest(CAST($interval_after AS VARCHAR[])) AS after,
        unnest(CAST($interval_symbol AS VARCHAR[])) AS symbol,
        unnest(CAST($interval_bottom AS VARCHAR[])) AS bottom,
        unnest(CAST($interval_top AS VARCHAR[])) AS top,
        unnest(CAST($interval_above_bottom AS BIGINT[])) AS above_bottom,
        unnest(CAST($interval_from_top AS BIGINT[])) AS from_top
),

bounds AS (
    SELECT
        i.attribute,
        i.node,
        i.low,
        i.high,
        i.total,
        i.symbol,
        CASE
            WHEN i.high > i.total OR (i.low = 0 AND i.bottom IS NOT NULL) THEN NULL
            WHEN i.low = i.from_top THEN i.top
            ELSE coalesce(CASE WHEN i.low = 0 THEN i.first END, l.value)
        END AS lower,
        CASE
            WHEN i.high > i.total OR (i.high = i.total AND i.top IS NOT NULL) THEN NULL
            WHEN i.high = i.above_bottom THEN i.bottom
            WHEN i.high = i.from_top THEN i.top
            ELSE coalesce(CASE WHEN i.high = i.total THEN i.after END, u.value)
        END AS upper,
        CASE
            WHEN i.high > i.total THEN NULL
            WHEN i.high = i.total AND i.top IS NOT NULL THEN FALSE
            WHEN i.high = i.above_bottom THEN TRUE
            ELSE i.high = i.total AND i.after IS NULL
        END AS closed
    FROM intervals AS i
    LEFT JOIN texts AS l
        ON l.attribute = i.attribute
        AND l.code = i.low
    LEFT JOIN texts AS u
        ON u.attribute = i.attribute
        AND u.code = CASE WHEN i.high < i.total THEN i.high ELSE i.total - 1 END
)

SELECT
    b.attribute,
    b.node,
    CASE
        WHEN b.low = 0 AND b.high > b.total THEN b.symbol
        WHEN b.low < b.total
            THEN CASE
                WHEN b.lower IS NULL AND b.upper IS NULL THEN 'any value'
                WHEN b.upper IS NULL THEN b.lower || ' or more'
                WHEN b.lower IS NOT NULL
                    THEN '[' || b.lower || ', ' || b.upper || CASE WHEN b.closed THEN ']' ELSE ')' END
                WHEN b.closed THEN b.upper || ' or less'
                ELSE 'less than ' || b.upper
            END
    END AS label,
    b.lower,
    b.upper,
    b.closed
FROM bounds AS b;
