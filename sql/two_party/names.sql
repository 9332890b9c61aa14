-- names | in: labels | out: names | grain: one row per value shown | params: attribute INTEGER[], number BIGINT[], node BIGINT[]
-- What the values of own columns are called that the release shows, by the numbers that the partner knows.
SELECT
    s.attribute,
    s.number,
    l.label
FROM (
    SELECT
        unnest(CAST($attribute AS INTEGER[])) AS attribute,
        unnest(CAST($number AS BIGINT[])) AS number,
        unnest(CAST($node AS BIGINT[])) AS node
) AS s
JOIN labels AS l
    ON l.attribute = s.attribute
    AND l.node = s.node
ORDER BY
    s.attribute,
    s.number;
