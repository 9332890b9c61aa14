-- customers | in: - | out: customers | grain: one row per Job, Country, Child, Bankruptcy, Rating | params: -
-- 24 bank customers, collapsed: n says how many records a row stands for.
-- Source: Wang, Fung, Yu 2005, ICDM, Table 1.
FROM (VALUES
    ('Cook', 'US', 'No', 'Current', 'Bad', 4),
    ('Artist', 'France', 'No', 'Current', 'Good', 1),
    ('Artist', 'France', 'No', 'Current', 'Bad', 3),
    ('Doctor', 'US', 'Yes', 'Never', 'Good', 4),
    ('Doctor', 'US', 'Yes', 'Never', 'Bad', 2),
    ('Trader', 'UK', 'No', 'Discharged', 'Good', 4),
    ('Trader', 'UK', 'No', 'Never', 'Good', 1),
    ('Trader', 'Canada', 'No', 'Never', 'Good', 1),
    ('Clerk', 'Canada', 'No', 'Never', 'Good', 3),
    ('Clerk', 'Canada', 'No', 'Discharged', 'Good', 1)
) AS v (Job, Country, Child, Bankruptcy, Rating, n);
