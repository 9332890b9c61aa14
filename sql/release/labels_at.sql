-- labels_at | in: ppdm.steps | out: labels_at | grain: one row per attribute and value that the state tells apart from the top | params: release VARCHAR, step INTEGER
-- What every label that the steps brought shows after one of them: itself where it stood by then, else its nearest
-- ancestor that did. A label without a row shows the top; ancestors come at earlier steps, so the climb ends.
WITH RECURSIVE moves AS (
    SELECT
        s.attribute,
        unnest(s.children) AS label,
        s.parent,
        s.step
    FROM ppdm.steps AS s
    WHERE s.release = param('release')
),
climbed AS (
    SELECT
        m.attribute,
        m.label AS value,
        m.label,
        m.parent,
        m.step
    FROM moves AS m
    UNION ALL
    SELECT
        c.attribute,
        c.value,
        m.label,
        m.parent,
        m.step
    FROM climbed AS c
    JOIN moves AS m
        ON m.attribute = c.attribute
        AND m.label = c.parent
        AND m.step < c.step
    WHERE c.step > param('step')
)
SELECT
    c.attribute,
    c.value,
    c.label
FROM climbed AS c
WHERE c.step <= param('step');
