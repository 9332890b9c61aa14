-- steps | in: labels | out: steps | grain: one row per step | params: step INTEGER[], attribute INTEGER[], parent BIGINT[], child BIGINT[], place INTEGER[], score DOUBLE[], gain DOUBLE[], loss DOUBLE[], names VARCHAR[]
-- The steps of a descent with the labels of what each specialized; the moves come as parallel lists, a child each.
SELECT
    m.step,
    any_value(CAST($names AS VARCHAR[])[m.attribute + 1]) AS attribute,
    any_value(p.label) AS parent,
    list(c.label ORDER BY m.place) AS children,
    any_value(m.score) AS score,
    any_value(m.gain) AS gain,
    any_value(m.loss) AS loss
FROM (
    SELECT
        unnest(CAST($step AS INTEGER[])) AS step,
        unnest(CAST($attribute AS INTEGER[])) AS attribute,
        unnest(CAST($parent AS BIGINT[])) AS parent,
        unnest(CAST($child AS BIGINT[])) AS child,
        unnest(CAST($place AS INTEGER[])) AS place,
        unnest(CAST($score AS DOUBLE[])) AS score,
        unnest(CAST($gain AS DOUBLE[])) AS gain,
        unnest(CAST($loss AS DOUBLE[])) AS loss
) AS m
JOIN labels AS p
    ON p.attribute = m.attribute
    AND p.node = m.parent
JOIN labels AS c
    ON c.attribute = m.attribute
    AND c.node = m.child
GROUP BY m.step
ORDER BY m.step;
