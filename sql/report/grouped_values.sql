-- grouped_values | in: side | out: grouped_values | grain: one row per value | params: value COLUMNS, groups INTEGER
-- The group of each value, as frequent as the others where values allow it, for a count of what two columns have in common.
WITH counted_values AS (
    SELECT
        COLUMNS(getvariable('value')) AS value,
        sum(s.records) AS records
    FROM side AS s
    GROUP BY ALL
)
SELECT
    c.value,
    CAST(
        least(
            floor(
                param('groups') * (sum(c.records) OVER (ORDER BY c.value) - c.records / 2) / sum(c.records) OVER ()
            ),
            param('groups') - 1
        ) AS INTEGER
    ) AS "group"
FROM counted_values AS c;
