-- interval_faults | in: dictionary | out: interval_faults | grain: one row | params: bounds VARCHAR[], closed BOOLEAN[], leaf BOOLEAN[], above INTEGER[]
-- How many intervals of a taxonomy are wrong in the type of the column, and how. Interval i has the bounds 2i and
-- 2i + 1; above is the place of the nearest interval over it, -1 where there is none. A bound that the cast rounds
-- is not a value of the type; one that is NULL leaves its side open.
WITH typed_texts AS (
    SELECT
        w.place,
        w.text,
        TRY(cast_to_type(w.text, t.value)) AS value
    FROM (
        SELECT
            unnest(range(len($bounds))) AS place,
            unnest(CAST($bounds AS VARCHAR[])) AS text
    ) AS w
    LEFT JOIN dictionary AS t
        ON FALSE
),
typed_bounds AS (
    SELECT
        v.place,
        v.text IS NULL AS is_open,
        CASE
            WHEN coalesce(
                TRY_CAST(CAST(v.value AS VARCHAR) AS DOUBLE) = TRY_CAST(v.text AS DOUBLE),
                typeof(v.value) <> 'DATE'
                OR TRY_CAST(CAST(v.value AS VARCHAR) AS TIMESTAMP) = TRY_CAST(v.text AS TIMESTAMP)
            ) THEN v.value
        END AS value
    FROM typed_texts AS v
),
intervals AS (
    SELECT
        i.*,
        l.value AS lower,
        u.value AS upper,
        l.is_open AS open_below,
        u.is_open AS open_above,
        lag(u.value) OVER ascending AS upper_before,
        lag(u.is_open) OVER ascending AS open_before,
        lag(i.closed) OVER ascending AS closed_before
    FROM (
        SELECT
            unnest(range(len($closed))) AS place,
            unnest(CAST($closed AS BOOLEAN[])) AS closed,
            unnest(CAST($leaf AS BOOLEAN[])) AS leaf,
            unnest(CAST($above AS INTEGER[])) AS above
    ) AS i
    JOIN typed_bounds AS l
        ON l.place = 2 * i.place
    JOIN typed_bounds AS u
        ON u.place = 2 * i.place + 1
    WINDOW ascending AS (PARTITION BY i.leaf ORDER BY NOT l.is_open, l.value, u.value, i.place)
)
SELECT
    count(*) FILTER (
        WHERE (n.lower IS NULL AND NOT n.open_below)
            OR (n.upper IS NULL AND NOT n.open_above)
    ) AS unreadable,
    count(*) FILTER (
        WHERE n.lower > n.upper OR (n.lower = n.upper AND NOT n.closed)
    ) AS empty,
    count(*) FILTER (
        WHERE n.leaf
            AND (
                n.lower < n.upper_before
                OR (n.lower = n.upper_before AND n.closed_before)
                OR n.open_before
                OR (n.open_below AND n.open_before IS NOT NULL)
            )
    ) AS overlapping,
    count(*) FILTER (
        WHERE n.lower < a.lower
            OR n.upper > a.upper
            OR (n.open_below AND NOT a.open_below)
            OR (n.open_above AND NOT a.open_above)
            OR (n.upper = a.upper AND n.closed AND NOT a.closed)
    ) AS outside
FROM intervals AS n
LEFT JOIN intervals AS a
    ON a.place = n.above;
