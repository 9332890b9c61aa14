-- employees | in: - | out: employees | grain: one row per Sex, Job, Salary, Class | params: -
-- 34 records of two joined parties, collapsed: n says how many records a row stands for; Salary in thousands.
-- Source: Wang, Fung, Dong 2005, ISI, slide 6.
FROM (VALUES
    ('M', 'Janitor', 30, 'N', 3),
    ('M', 'Mover', 32, 'N', 4),
    ('M', 'Carpenter', 35, 'Y', 2),
    ('M', 'Carpenter', 35, 'N', 3),
    ('F', 'Technician', 37, 'Y', 3),
    ('F', 'Technician', 37, 'N', 1),
    ('F', 'Manager', 42, 'Y', 4),
    ('F', 'Manager', 42, 'N', 2),
    ('F', 'Manager', 44, 'Y', 3),
    ('M', 'Accountant', 44, 'Y', 3),
    ('F', 'Accountant', 44, 'Y', 3),
    ('M', 'Lawyer', 44, 'Y', 2),
    ('F', 'Lawyer', 44, 'Y', 1)
) AS v (Sex, Job, Salary, Class, n);
