-- policies | in: - | out: policies | grain: one row per No | params: -
-- 16 holders of a life insurance; Amount is confidential.
-- Source: Li, Sarkar 2004, ICIS, Table 1; its marks of identifiable records are left out.
FROM (VALUES
    (1, '30-39', 'Female', 'CA', 'Med'),
    (2, '30-39', 'Female', 'NY', 'Low'),
    (3, '30-39', 'Female', 'NY', 'Low'),
    (4, '30-39', 'Male', 'CA', 'Med'),
    (5, '30-39', 'Male', 'CA', 'Med'),
    (6, '30-39', 'Male', 'NY', 'High'),
    (7, '40-49', 'Female', 'CA', 'Med'),
    (8, '40-49', 'Female', 'NY', 'Med'),
    (9, '40-49', 'Female', 'NY', 'High'),
    (10, '40-49', 'Male', 'CA', 'Low'),
    (11, '40-49', 'Male', 'NY', 'High'),
    (12, '40-49', 'Male', 'NY', 'High'),
    (13, '50-59', 'Female', 'NY', 'Low'),
    (14, '50-59', 'Male', 'CA', 'Med'),
    (15, '50-59', 'Male', 'CA', 'High'),
    (16, '50-59', 'Male', 'NY', 'High')
) AS v (No, Age, Gender, Location, Amount);
