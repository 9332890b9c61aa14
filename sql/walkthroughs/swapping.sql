-- Swapping the confidential values of identifiable records, in plain SQL.
-- Source: Li, Sarkar 2004, "A Data Perturbation Approach to Privacy Protection in Data Mining",
-- ICIS.
--
-- Run it from top to bottom: duckdb < swapping.sql, or .read swapping.sql at the prompt of any
-- database. Everything it makes is temporary and gone when the shell is closed; until then, query
-- it. "ppdm swap --method greedy --phase1 separate" is the same procedure; where the paper is
-- silent or misprints, the text says so.

-- ---------------------------------------------------------------------------------------------
-- 1. The example, and who can be identified
-- ---------------------------------------------------------------------------------------------

-- Enter Table 1: 16 holders of a life insurance. Amount is confidential, the rest is not.
CREATE OR REPLACE TEMP TABLE policies AS
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

-- The categories of Amount, in the paper's order: 1, 2 and 3 of its subscripts.
CREATE OR REPLACE TEMP TABLE categories AS
FROM (VALUES
    ('Low', 1),
    ('Med', 2),
    ('High', 3)
) AS v (Amount, category);

-- Definition 2: a record is identifiable if its non-confidential pattern determines its Amount;
-- uniquely (U) if it is alone with its pattern, collectively (V) if it is one of a group.
CREATE OR REPLACE TEMP TABLE identifiable_patterns AS
SELECT
    p.Age,
    p.Gender,
    p.Location,
    min(p.No) AS first_member,
    count(*) AS records,
    CASE WHEN count(*) = 1 THEN 'U' ELSE 'V' END AS status
FROM policies AS p
GROUP BY ALL
HAVING count(DISTINCT p.Amount) = 1;

-- Table 1 with its last column: V1, V2 and V3 are three groups, records without a mark are
-- unidentifiable.
WITH marked_patterns AS (
    SELECT
        i.Age,
        i.Gender,
        i.Location,
        CASE
            WHEN i.status = 'U' THEN 'U'
            ELSE concat('V', row_number() OVER (PARTITION BY i.status ORDER BY i.first_member))
        END AS mark
    FROM identifiable_patterns AS i
)
SELECT
    p.No,
    p.Age,
    p.Gender,
    p.Location,
    p.Amount,
    coalesce(m.mark, '') AS identifiable_status
FROM policies AS p
LEFT JOIN marked_patterns AS m USING (Age, Gender, Location)
ORDER BY p.No;

-- The records that may be perturbed: all of U, and one member of each group of V. Members are
-- alike; Table 3 takes the first. (A release should not always do so: "ppdm swap" draws one.)
CREATE OR REPLACE TEMP TABLE candidate_records AS
SELECT
    p.No,
    i.status,
    p.Age,
    p.Gender,
    p.Location,
    p.Amount
FROM policies AS p
JOIN identifiable_patterns AS i
    ON i.first_member = p.No;

-- N_k of Phase I: how many of these records have each category, in U and in V.
SELECT
    c.Amount,
    count(*) FILTER (WHERE r.status = 'U') AS records_of_u,
    count(*) FILTER (WHERE r.status = 'V') AS records_of_v
FROM categories AS c
LEFT JOIN candidate_records AS r USING (Amount)
GROUP BY c.Amount, c.category
ORDER BY c.category;

-- ---------------------------------------------------------------------------------------------
-- 2. Phase I: preserve the marginal distribution
-- ---------------------------------------------------------------------------------------------

-- The linear program (1) has six variables here: n_kh records of U change from category k to h.
-- With p = 0.5, three of six records change in all (1b), at most N_k = 2 leave a category (1d).
-- The table is small enough to try every integer solution; the surplus of a category is what
-- leaves it less what enters it (1c). (The example misprints (1c): the surplus s+ is subtracted.)
CREATE OR REPLACE TEMP TABLE optimal_flows AS
SELECT
    a.n12,
    b.n13,
    c.n21,
    d.n23,
    e.n31,
    f.n32,
    abs(a.n12 + b.n13 - c.n21 - e.n31)
        + abs(c.n21 + d.n23 - a.n12 - f.n32)
        + abs(e.n31 + f.n32 - b.n13 - d.n23) AS deviation
FROM range(3) AS a (n12)
CROSS JOIN range(3) AS b (n13)
CROSS JOIN range(3) AS c (n21)
CROSS JOIN range(3) AS d (n23)
CROSS JOIN range(3) AS e (n31)
CROSS JOIN range(3) AS f (n32)
WHERE a.n12 + b.n13 + c.n21 + d.n23 + e.n31 + f.n32 = 3
    AND a.n12 + b.n13 <= 2
    AND c.n21 + d.n23 <= 2
    AND e.n31 + f.n32 <= 2
QUALIFY deviation = min(deviation) OVER ()
ORDER BY a.n12 DESC, b.n13 DESC;

-- The optimal solutions: the objective reaches 0, so the marginal is preserved. There are two,
-- round the three categories in either direction. The paper and "ppdm swap" take
-- n12 = n23 = n31 = 1; from the other one the swaps below end at 2.77723.
FROM optimal_flows AS f;

-- V is the same problem with p = 1 and N_k = 1: one record of each category changes, and the same
-- two solutions do. So in U and in V, one Low becomes Med, one Med becomes High, one High becomes
-- Low. Which records of U these are is open; the paper takes 13, 1 and 16.
CREATE OR REPLACE TEMP TABLE perturbed_records AS
SELECT
    r.No,
    r.status,
    r.Amount AS true_amount,
    coalesce(v.amount_after, r.Amount) AS phase_1_amount,
    coalesce(v.amount_after, r.Amount) AS amount
FROM candidate_records AS r
LEFT JOIN (VALUES
    (13, 'Med'),
    (1, 'High'),
    (16, 'Low'),
    (2, 'Med'),
    (4, 'High'),
    (11, 'Low')
) AS v (No, amount_after)
    ON v.No = r.No;

-- Check it against the solution: one record of U and one of V on each of the three ways.
SELECT
    r.true_amount,
    r.phase_1_amount,
    count(*) FILTER (WHERE r.status = 'U') AS records_of_u,
    count(*) FILTER (WHERE r.status = 'V') AS records_of_v
FROM perturbed_records AS r
WHERE r.true_amount <> r.phase_1_amount
GROUP BY ALL
ORDER BY r.true_amount DESC;

-- ---------------------------------------------------------------------------------------------
-- 3. Posterior probabilities by simple Bayes (Appendix B)
-- ---------------------------------------------------------------------------------------------

-- The prior probabilities of the categories: 4/16, 6/16 and 6/16.
CREATE OR REPLACE TEMP TABLE priors AS
SELECT
    c.Amount,
    c.category,
    count(*) AS records,
    count(*) / sum(count(*)) OVER () AS prior
FROM policies AS p
JOIN categories AS c USING (Amount)
GROUP BY c.Amount, c.category;

-- The conditional probabilities of every value of every attribute, given the category. A value that
-- never occurs with a category has no row, and probability 0.
CREATE OR REPLACE TEMP TABLE conditionals AS
SELECT
    v.Amount,
    v.attribute,
    v.value,
    count(*) AS records,
    count(*) / sum(count(*)) OVER (PARTITION BY v.Amount, v.attribute) AS conditional
FROM (UNPIVOT policies ON Age, Gender, Location INTO NAME attribute VALUE value) AS v
GROUP BY v.Amount, v.attribute, v.value;

-- Appendix B prints those of record 1. (It has P(30-39 | Med) = 3/16, a misprint: three of the six
-- Med records are 30-39, and its product uses 3/6.)
SELECT
    c.attribute,
    c.value,
    concat(max(c.records) FILTER (WHERE c.Amount = 'Low'), '/', max(b.records)
        FILTER (WHERE c.Amount = 'Low')) AS given_low,
    concat(max(c.records) FILTER (WHERE c.Amount = 'Med'), '/', max(b.records)
        FILTER (WHERE c.Amount = 'Med')) AS given_med,
    concat(max(c.records) FILTER (WHERE c.Amount = 'High'), '/', max(b.records)
        FILTER (WHERE c.Amount = 'High')) AS given_high
FROM conditionals AS c
JOIN priors AS b USING (Amount)
WHERE c.value IN ('30-39', 'Female', 'CA')
GROUP BY ALL
ORDER BY c.attribute;

-- Equation (10): the posterior is prior times conditionals, normalized over the categories by a
-- window. (Several "P" of Appendix B stand for divisions by P, which cancels out.)
CREATE OR REPLACE TEMP TABLE posteriors AS
WITH joint_probabilities AS (
    SELECT
        v.No,
        b.Amount,
        b.prior * product(coalesce(c.conditional, 0)) AS probability
    FROM (UNPIVOT candidate_records ON Age, Gender, Location INTO NAME attribute VALUE value) AS v
    CROSS JOIN priors AS b
    LEFT JOIN conditionals AS c
        ON c.attribute = v.attribute
        AND c.value = v.value
        AND c.Amount = b.Amount
    GROUP BY v.No, b.Amount, b.prior
)
SELECT
    j.No,
    j.Amount,
    j.probability / sum(j.probability) OVER (PARTITION BY j.No) AS posterior
FROM joint_probabilities AS j;

-- d(t, r) of equation (11), by which the joint distribution suffers from changing a record from its
-- true category t to r: the difference of the two posteriors. This view follows the swaps below.
CREATE OR REPLACE TEMP VIEW record_differences AS
SELECT
    r.No,
    r.status,
    r.true_amount,
    r.amount,
    t.posterior - n.posterior AS difference
FROM perturbed_records AS r
JOIN posteriors AS t
    ON t.No = r.No
    AND t.Amount = r.true_amount
JOIN posteriors AS n
    ON n.No = r.No
    AND n.Amount = r.amount;

-- Table 3 up to Phase I: posteriors, original and perturbed Amount, d(t, r).
SELECT
    r.No,
    round(max(p.posterior) FILTER (WHERE p.Amount = 'Low'), 4) AS p_low,
    round(max(p.posterior) FILTER (WHERE p.Amount = 'Med'), 4) AS p_med,
    round(max(p.posterior) FILTER (WHERE p.Amount = 'High'), 4) AS p_high,
    d.true_amount AS original_amount,
    d.amount AS phase_1_perturbed,
    round(d.difference, 4) AS d_t_r
FROM candidate_records AS r
JOIN posteriors AS p USING (No)
JOIN record_differences AS d USING (No)
GROUP BY
    r.No,
    r.status,
    d.true_amount,
    d.amount,
    d.difference
ORDER BY r.status ASC, r.No ASC;

-- The objective (12a) is their sum.
CREATE OR REPLACE TEMP VIEW objective AS
SELECT
    round(sum(d.difference), 5) AS objective
FROM record_differences AS d;

-- The objective (12a) after Phase I: the paper prints 4.0718, the sum of its rounded terms.
FROM objective AS o;

-- ---------------------------------------------------------------------------------------------
-- 4. Phase II: swap while it pays
-- ---------------------------------------------------------------------------------------------

-- The admissible swaps of two records (Definition 4, rules 1 to 4 of Appendix A), each with its
-- cost (14): what the differences of both records change by. Admissible is what leaves as many
-- records of U perturbed as before, and every chosen record of V. The rules follow from counting
-- just that. This view follows the swaps below.
CREATE OR REPLACE TEMP VIEW admissible_swaps AS
WITH record_pairs AS (
    SELECT
        i.No AS no_i,
        j.No AS no_j,
        i.status AS status_i,
        j.status AS status_j,
        i.true_amount AS true_i,
        j.true_amount AS true_j,
        i.amount AS amount_i,
        j.amount AS amount_j
    FROM perturbed_records AS i
    JOIN perturbed_records AS j
        ON j.No > i.No
        AND j.amount <> i.amount
),
swaps AS (
    SELECT
        p.no_i,
        p.no_j,
        p.amount_i,
        p.amount_j,
        CAST(p.status_i = 'U' AND p.true_i <> p.amount_i AS INTEGER)
            + CAST(p.status_j = 'U' AND p.true_j <> p.amount_j AS INTEGER) AS perturbed_before,
        CAST(p.status_i = 'U' AND p.true_i <> p.amount_j AS INTEGER)
            + CAST(p.status_j = 'U' AND p.true_j <> p.amount_i AS INTEGER) AS perturbed_after
    FROM record_pairs AS p
    WHERE NOT (p.status_i = 'V' AND p.true_i = p.amount_j)
        AND NOT (p.status_j = 'V' AND p.true_j = p.amount_i)
)
SELECT
    s.no_i,
    s.no_j,
    s.amount_i,
    s.amount_j,
    i.posterior - ij.posterior + j.posterior - ji.posterior AS cost
FROM swaps AS s
JOIN posteriors AS i
    ON i.No = s.no_i
    AND i.Amount = s.amount_i
JOIN posteriors AS ij
    ON ij.No = s.no_i
    AND ij.Amount = s.amount_j
JOIN posteriors AS j
    ON j.No = s.no_j
    AND j.Amount = s.amount_j
JOIN posteriors AS ji
    ON ji.No = s.no_j
    AND ji.Amount = s.amount_i
WHERE s.perturbed_before = s.perturbed_after;

-- Step 3 of Table 2: list the swaps with a negative cost, the cheapest first.
CREATE OR REPLACE TEMP TABLE swap_list AS
SELECT
    row_number() OVER (ORDER BY s.cost ASC, s.no_i ASC, s.no_j ASC) AS place,
    s.no_i,
    s.no_j,
    s.amount_i,
    s.amount_j,
    s.cost
FROM admissible_swaps AS s
WHERE s.cost < 0;

-- The list: each swap undoes a change of Phase I and makes another one instead.
SELECT
    l.place,
    l.no_i,
    l.no_j,
    l.amount_i,
    l.amount_j,
    round(l.cost, 4) AS cost
FROM swap_list AS l
ORDER BY l.place;

-- The swap that is performed next: the first of the list.
CREATE OR REPLACE TEMP VIEW next_swap AS
SELECT
    l.no_i,
    l.no_j,
    l.amount_i,
    l.amount_j
FROM swap_list AS l
ORDER BY l.place
LIMIT 1;

-- Perform the first swap of the list: 10 becomes Med, which is likelier for it than Low.
UPDATE perturbed_records AS r
SET amount = CASE WHEN r.No = n.no_i THEN n.amount_j ELSE n.amount_i END
FROM next_swap AS n
WHERE r.No IN (n.no_i, n.no_j);

-- Take it off the list, and with it all swaps of either record, which must be examined again.
DELETE FROM swap_list AS l
USING next_swap AS n
WHERE l.no_i IN (n.no_i, n.no_j) OR l.no_j IN (n.no_i, n.no_j);

-- The objective falls by 1.1061.
FROM objective AS o;

-- Perform the next one: 6 becomes Low, 16 is reset to High. These are the same statements again.
UPDATE perturbed_records AS r
SET amount = CASE WHEN r.No = n.no_i THEN n.amount_j ELSE n.amount_i END
FROM next_swap AS n
WHERE r.No IN (n.no_i, n.no_j);

-- Take it off the list, and with it all swaps of either record, which must be examined again.
DELETE FROM swap_list AS l
USING next_swap AS n
WHERE l.no_i IN (n.no_i, n.no_j) OR l.no_j IN (n.no_i, n.no_j);

-- The objective falls by 0.4817.
FROM objective AS o;

-- Perform the last one: 7 becomes High, 1 is reset to Med, as the paper describes.
UPDATE perturbed_records AS r
SET amount = CASE WHEN r.No = n.no_i THEN n.amount_j ELSE n.amount_i END
FROM next_swap AS n
WHERE r.No IN (n.no_i, n.no_j);

-- Take it off the list, and with it all swaps of either record, which must be examined again.
DELETE FROM swap_list AS l
USING next_swap AS n
WHERE l.no_i IN (n.no_i, n.no_j) OR l.no_j IN (n.no_i, n.no_j);

-- The objective is 2.42375 (printed 2.4237, the sum of rounded terms).
FROM objective AS o;

-- Step 4: look at the costs again. None is negative any more, so the procedure ends.
SELECT
    count(*) AS admissible_swaps,
    count(*) FILTER (WHERE s.cost < 0) AS with_negative_cost
FROM admissible_swaps AS s;

-- ---------------------------------------------------------------------------------------------
-- 5. The release
-- ---------------------------------------------------------------------------------------------

-- Table 3, its last columns. (The paper's arrows join 1 with 7, 6 with 16 and 10 with 13.)
SELECT
    r.No,
    r.true_amount AS original_amount,
    r.phase_1_amount AS phase_1_perturbed,
    r.amount AS phase_2_perturbed,
    round(d.difference, 4) AS d_t_r
FROM perturbed_records AS r
JOIN record_differences AS d USING (No)
ORDER BY r.status ASC, r.No ASC;

-- The table to release: Amount is swapped, and nothing else is touched.
CREATE OR REPLACE TEMP TABLE swapped_policies AS
SELECT
    p.No,
    p.Age,
    p.Gender,
    p.Location,
    coalesce(r.amount, p.Amount) AS Amount
FROM policies AS p
LEFT JOIN perturbed_records AS r USING (No);

-- Goal G1: the marginal distribution of Amount is what it was.
SELECT
    c.Amount,
    count(*) FILTER (WHERE p.Amount = c.Amount) AS records_before,
    count(*) FILTER (WHERE s.Amount = c.Amount) AS records_after
FROM categories AS c
CROSS JOIN policies AS p
JOIN swapped_policies AS s USING (No)
GROUP BY c.Amount, c.category
ORDER BY c.category;

-- Constraints C1 and C2: half of U is perturbed, and one member of each group of V, so that no
-- group determines its Amount any more.
SELECT
    i.status,
    count(DISTINCT i.first_member) AS patterns,
    count(*) AS records,
    count(*) FILTER (WHERE s.Amount <> p.Amount) AS perturbed
FROM identifiable_patterns AS i
JOIN policies AS p USING (Age, Gender, Location)
JOIN swapped_policies AS s USING (No)
GROUP BY ALL
ORDER BY i.status;

-- ---------------------------------------------------------------------------------------------
-- 6. Beyond the paper: the least objective
-- ---------------------------------------------------------------------------------------------

-- The greedy procedure depends on where Phase I starts. Nine records of three categories are few
-- enough to try all plans: record by record, each takes one of the categories, members of V another
-- one than their own. Of the plans that change three records of U and keep the marginal (if Low and
-- Med are as frequent as before, so is High), the best costs 2.13535; "ppdm swap --method exact"
-- finds it without trying.
WITH RECURSIVE choices AS (
    SELECT
        dense_rank() OVER (ORDER BY r.No) AS place,
        r.No,
        n.Amount,
        t.posterior - n.posterior AS difference,
        CAST(r.status = 'U' AND n.Amount <> r.true_amount AS INTEGER) AS changed_u,
        CAST(n.Amount = 'Low' AS INTEGER) - CAST(r.true_amount = 'Low' AS INTEGER) AS more_low,
        CAST(n.Amount = 'Med' AS INTEGER) - CAST(r.true_amount = 'Med' AS INTEGER) AS more_med
    FROM perturbed_records AS r
    JOIN posteriors AS t
        ON t.No = r.No
        AND t.Amount = r.true_amount
    JOIN posteriors AS n
        ON n.No = r.No
    WHERE r.status = 'U'
        OR n.Amount <> r.true_amount
),
partial_plans (place, plan, objective, changed_u, more_low, more_med) AS (
    SELECT
        CAST(0 AS BIGINT) AS place,
        '' AS plan,
        CAST(0 AS DOUBLE) AS objective,
        0 AS changed_u,
        0 AS more_low,
        0 AS more_med
    UNION ALL
    SELECT
        c.place,
        concat(p.plan, ' ', c.No, ':', c.Amount) AS plan,
        p.objective + c.difference AS objective,
        p.changed_u + c.changed_u AS changed_u,
        p.more_low + c.more_low AS more_low,
        p.more_med + c.more_med AS more_med
    FROM partial_plans AS p
    JOIN choices AS c
        ON c.place = p.place + 1
)
SELECT
    round(p.objective, 5) AS objective,
    trim(p.plan) AS plan
FROM partial_plans AS p
WHERE p.place = 9
    AND p.changed_u = 3
    AND p.more_low = 0
    AND p.more_med = 0
ORDER BY p.objective ASC, p.plan ASC
LIMIT 3;
