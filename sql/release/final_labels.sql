-- final_labels | in: ppdm.steps | out: final_labels | grain: one row per attribute and label that no step refined | params: release VARCHAR
-- The final cut, but for the labels of the most general state; NULL is a label like any other.
SELECT
    m.attribute,
    m.label AS value
FROM (
    SELECT
        s.attribute,
        unnest(s.children) AS label
    FROM ppdm.steps AS s
    WHERE s.release = param('release')
) AS m
WHERE NOT EXISTS (
    SELECT 1
    FROM ppdm.steps AS r
    WHERE r.release = param('release')
        AND r.attribute = m.attribute
        AND r.parent = m.label
);
