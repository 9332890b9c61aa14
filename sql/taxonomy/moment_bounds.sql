-- moment_bounds | in: quantiles | out: moment_bounds | grain: one row per run of moments, in order | params: -
-- As run_bounds for dates and timestamps; a run but the first begins with the year, month, day, hour, minute or
-- second that lies after the run before, the longest such.
WITH ordered_runs AS (
    SELECT
        q.lower,
        q.upper,
        lag(q.upper) OVER (ORDER BY q.lower) AS before
    FROM quantiles AS q
)
SELECT
    CAST(
        cast_to_type(
            CASE
                WHEN date_trunc('year', o.lower) > o.before THEN date_trunc('year', o.lower)
                WHEN date_trunc('month', o.lower) > o.before THEN date_trunc('month', o.lower)
                WHEN date_trunc('day', o.lower) > o.before THEN date_trunc('day', o.lower)
                WHEN date_trunc('hour', o.lower) > o.before THEN date_trunc('hour', o.lower)
                WHEN date_trunc('minute', o.lower) > o.before THEN date_trunc('minute', o.lower)
                WHEN date_trunc('second', o.lower) > o.before THEN date_trunc('second', o.lower)
                ELSE o.lower
            END,
            o.lower
        ) AS VARCHAR
    ) AS lower,
    CAST(o.upper AS VARCHAR) AS upper,
    CAST(o.before AS VARCHAR) AS upper_before
FROM ordered_runs AS o
ORDER BY o.lower;
