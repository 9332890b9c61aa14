-- insert_agrawal | in: candidates | out: target | grain: one row per person | params: drawn_a BIGINT, kept_a BIGINT, drawn_b BIGINT, kept_b BIGINT
-- Of the drawn members of each group so many are kept, evenly spread, that neither group lies at an end.
INSERT INTO target
SELECT
    p.salary,
    p.commission,
    p.age,
    p.elevel,
    p.car,
    p.zipcode,
    p.hvalue,
    p.hyears,
    p.loan,
    CASE WHEN p.in_group_a THEN 'Group A' ELSE 'Group B' END AS class
FROM (
    SELECT
        c.*,
        row_number() OVER (PARTITION BY c.in_group_a ORDER BY c.position) AS place
    FROM candidates AS c
) AS p
WHERE CASE
        WHEN p.in_group_a THEN (p.place * param('kept_a')) % param('drawn_a') < param('kept_a')
        ELSE (p.place * param('kept_b')) % param('drawn_b') < param('kept_b')
    END
ORDER BY p.position;
