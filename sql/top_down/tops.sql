-- tops | in: labels | out: tops | grain: one row per attribute | params: roots BIGINT[]
-- Reads what the most general state shows.
SELECT
    l.attribute,
    l.label
FROM labels AS l
WHERE l.node = CAST($roots AS BIGINT[])[l.attribute + 1]
    AND l.label IS NOT NULL;
