-- worst_groups | in: judgements, atoms | out: worst_groups | grain: one row per position and class | params: qi VARCHAR[], sign INTEGER, groups INTEGER
-- The classes furthest on the wrong side of a requirement (sign 1: low is bad, -1: high is bad), by
-- name: the only audit whose rows hold cells. Equals are sorted by their values.
SELECT
    j.position,
    j.class_records,
    j.reached,
    j.violates,
    COLUMNS(getvariable('qi'))
FROM judgements AS j
INNER JOIN atoms AS a
    ON j.class = a.atom
ORDER BY
    j.reached * param('sign'),
    row(*COLUMNS(getvariable('qi'))),
    j.position
LIMIT param('groups');
