-- party_side | in: employees | out: party_side | grain: one row per employee | params: owned VARCHAR[]
-- What one of two parties knows of the employees.
SELECT
    1000 + row_number() OVER (ORDER BY e.Sex ASC, e.Job ASC, e.Salary ASC, e.Class ASC) AS SSN,
    COLUMNS(getvariable('owned')),
    e.Class
FROM (
    SELECT
        m.Sex,
        m.Job,
        m.Salary,
        m.Class,
        unnest(range(m.n)) AS copy
    FROM employees AS m
) AS e;
