-- outermost_bounds | in: source, ppdm.taxonomies | out: outermost_bounds | grain: one row | params: attribute VARCHAR[], name VARCHAR, release VARCHAR
-- Intervals that were grown without a range begin and end with the least and the greatest value of the source: whether
-- the release shows them as bounds, and how many records hold them.
WITH extremes AS (
    SELECT
        min(COLUMNS(getvariable('attribute'))) AS least,
        max(COLUMNS(getvariable('attribute'))) AS most
    FROM source AS s
),
bounds AS (
    SELECT
        coalesce(bool_or(t.closed), false) AS is_grown,
        coalesce(bool_or(t.lower = CAST(e.least AS VARCHAR)), false) AS tells_least,
        coalesce(bool_or(t.closed AND t.upper = CAST(e.most AS VARCHAR)), false) AS tells_most,
        any_value(e.least) AS least,
        any_value(e.most) AS most
    FROM ppdm.taxonomies AS t
    CROSS JOIN extremes AS e
    WHERE
        t.release = param('release')
        AND t.attribute = param('name')
        AND t.shown
        AND starts_with(t.label, '[')
)
SELECT
    any_value(b.is_grown) AS is_grown,
    any_value(b.tells_least) AS tells_least,
    any_value(b.tells_most) AS tells_most,
    count(*) FILTER (COLUMNS(getvariable('attribute')) = b.least) AS records_least,
    count(*) FILTER (COLUMNS(getvariable('attribute')) = b.most) AS records_most
FROM source AS s
CROSS JOIN bounds AS b;
