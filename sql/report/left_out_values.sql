-- left_out_values | in: source_side, release_side, ppdm.cuts | out: left_out_values | grain: one row per label | params: value COLUMNS, shown COLUMNS, release, attribute, share DOUBLE, most INTEGER
-- The labels of a column that lose twice the share of the whole table or more, those that lose most beyond it first.
-- A value that the cut does not know is shown by no record that is kept. Nothing is given where the cut does not tell
-- what became of the values.
WITH labels AS (
    SELECT
        CASE
            WHEN k.attribute IS NULL THEN CAST(COLUMNS(getvariable('value')) AS VARCHAR)
            ELSE k.generalized
        END AS label,
        s.records AS before,
        0 AS after
    FROM source_side AS s
    LEFT JOIN ppdm.cuts AS k
        ON k.release = $release
        AND k.attribute = $attribute
        AND k.value IS NOT DISTINCT FROM CAST(COLUMNS(getvariable('value')) AS VARCHAR)
    UNION ALL
    SELECT
        CAST(COLUMNS(getvariable('shown')) AS VARCHAR) AS label,
        0 AS before,
        r.records AS after
    FROM release_side AS r
),
losses AS (
    SELECT
        l.label,
        CAST(sum(l.before) AS BIGINT) AS before,
        CAST(sum(l.before) - sum(l.after) AS BIGINT) AS left_out,
        min(sum(l.before) - sum(l.after)) OVER () < 0 AS untold
    FROM labels AS l
    GROUP BY l.label
)
SELECT
    o.label,
    o.before,
    o.left_out
FROM losses AS o
WHERE NOT o.untold
    AND o.left_out >= 2 * o.before * param('share')
ORDER BY o.left_out - o.before * param('share') DESC, o.label ASC
LIMIT param('most');
