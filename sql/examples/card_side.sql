-- card_side | in: employees | out: card_side | grain: one row per employee | params: -
-- What the second of two parties knows of the employees.
SELECT
    1000 + row_number() OVER (ORDER BY e.Sex ASC, e.Job ASC, e.Salary ASC, e.Class ASC) AS SSN,
    e.Job,
    e.Salary,
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
