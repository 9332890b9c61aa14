-- cuts | in: texts, labels | out: cuts | grain: one row per attribute and value | params: names VARCHAR[], attribute INTEGER[], code BIGINT[], node BIGINT[]
-- What became of every value of the masked attributes. The nodes come as runs: each holds from its code to the next.
WITH runs AS (
    SELECT
        unnest(CAST($attribute AS INTEGER[])) AS attribute,
        unnest(CAST($code AS BIGINT[])) AS code,
        unnest(CAST($node AS BIGINT[])) AS node
)
SELECT
    CAST($names AS VARCHAR[])[t.attribute + 1] AS attribute,
    t.value,
    l.label AS generalized
FROM texts AS t
ASOF JOIN runs AS r
    ON r.attribute = t.attribute
    AND t.code >= r.code
JOIN labels AS l
    ON l.attribute = r.attribute
    AND l.node = r.node;
