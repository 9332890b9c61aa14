-- suda_values | in: scores, coded, dictionary | out: suda_values | grain: one row per value | params: part COLUMNS, code COLUMNS, most INTEGER
-- The values of a column that take the largest part in the SUDA scores.
SELECT
    CAST(any_value(d.value) AS VARCHAR) AS value,
    sum(COLUMNS(getvariable('part'))) AS score
FROM scores AS s
INNER JOIN coded AS c
    ON s.atom = c.atom
INNER JOIN dictionary AS d
    ON COLUMNS(getvariable('code')) = d.code
GROUP BY d.code
HAVING sum(COLUMNS(getvariable('part'))) > 0
ORDER BY score DESC, value
LIMIT param('most');
