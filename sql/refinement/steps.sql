-- steps | in: texts | out: steps | grain: one row per step | params: step INTEGER[], attribute INTEGER[], code BIGINT[], score DOUBLE[], gain DOUBLE[], loss DOUBLE[], names VARCHAR[], symbol VARCHAR
-- The steps of a descent with the text of what each disclosed; the moves come as parallel lists.
SELECT
    m.step,
    any_value(CAST($names AS VARCHAR[])[m.attribute + 1]) AS attribute,
    any_value($symbol) AS parent,
    list(t.value ORDER BY t.code) AS children,
    any_value(m.score) AS score,
    any_value(m.gain) AS gain,
    any_value(m.loss) AS loss
FROM (
    SELECT
        unnest(CAST($step AS INTEGER[])) AS step,
        unnest(CAST($attribute AS INTEGER[])) AS attribute,
        unnest(CAST($code AS BIGINT[])) AS code,
        unnest(CAST($score AS DOUBLE[])) AS score,
        unnest(CAST($gain AS DOUBLE[])) AS gain,
        unnest(CAST($loss AS DOUBLE[])) AS loss
) AS m
JOIN texts AS t
    ON t.attribute = m.attribute
    AND t.code = m.code
GROUP BY m.step
ORDER BY m.step;
