-- labels | in: texts | out: labels | grain: one row per attribute and node | params: attribute INTEGER[], node BIGINT[], label VARCHAR[], lower VARCHAR[], upper VARCHAR[], closed BOOLEAN[], suppressed INTEGER[]
-- Names the nodes of the masked attributes: by labels that are known, and values of suppressed attributes.
SELECT
    unnest(CAST($attribute AS INTEGER[])) AS attribute,
    unnest(CAST($node AS BIGINT[])) AS node,
    unnest(CAST($label AS VARCHAR[])) AS label,
    unnest(CAST($lower AS VARCHAR[])) AS lower,
    unnest(CAST($upper AS VARCHAR[])) AS upper,
    unnest(CAST($closed AS BOOLEAN[])) AS closed
UNION ALL
SELECT t.attribute, t.code + 1, t.value, NULL, NULL, NULL
FROM texts AS t
WHERE list_contains(CAST($suppressed AS INTEGER[]), t.attribute);
