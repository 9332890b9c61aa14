-- Anonymity by generalization: Top-Down Specialization (TDS), in plain SQL.
-- Source: Wang, Fung, Dong 2005, "Integrating Private Databases for Data Analysis", ISI, slides;
-- the measures are those of Fung, Wang, Yu 2005, "Top-Down Specialization for Information and
-- Privacy Preservation", ICDE.
--
-- Run it from top to bottom: duckdb < tds.sql, or .read tds.sql at the prompt of any database.
-- Everything it makes is temporary and gone when the shell is closed; until then, query it.
-- "ppdm generalize" takes the same steps; where the slides are silent, the text says what it
-- assumes.

-- ---------------------------------------------------------------------------------------------
-- 1. The example: 34 employees, and how few of them share Sex and Job
-- ---------------------------------------------------------------------------------------------

-- Enter the table of slide 7: groups of alike employees, n records each, Salary in thousands.
CREATE OR REPLACE TEMP TABLE employees AS
FROM (VALUES
    (1, 'M', 'Janitor', 30, 'N', 3),
    (2, 'M', 'Mover', 32, 'N', 4),
    (3, 'M', 'Carpenter', 35, 'Y', 2),
    (4, 'M', 'Carpenter', 35, 'N', 3),
    (5, 'F', 'Technician', 37, 'Y', 3),
    (6, 'F', 'Technician', 37, 'N', 1),
    (7, 'F', 'Manager', 42, 'Y', 4),
    (8, 'F', 'Manager', 42, 'N', 2),
    (9, 'F', 'Manager', 44, 'Y', 3),
    (10, 'M', 'Accountant', 44, 'Y', 3),
    (11, 'F', 'Accountant', 44, 'Y', 3),
    (12, 'M', 'Lawyer', 44, 'Y', 2),
    (13, 'F', 'Lawyer', 44, 'Y', 1)
) AS v (group_number, Sex, Job, Salary, Class, n);

-- Slide 7: QID1 = {Sex, Job}. a(qid1) is the number of records with the same Sex and Job, whatever
-- else they have, so a window over them counts it. The smallest is 1: the female lawyer is alone.
-- (The slide asks k1 = 4; three janitors are fewer too.)
WITH rows_of_the_slide AS (
    SELECT
        e.Sex,
        e.Job,
        e.Salary,
        min(e.group_number) AS place,
        coalesce(sum(e.n) FILTER (WHERE e.Class = 'Y'), 0) AS yes,
        coalesce(sum(e.n) FILTER (WHERE e.Class = 'N'), 0) AS no,
        sum(e.n) AS records
    FROM employees AS e
    GROUP BY ALL
)
SELECT
    r.Sex,
    r.Job,
    concat(r.Salary, 'K') AS Salary,
    concat(r.yes, 'Y', r.no, 'N') AS Class,
    r.records,
    sum(r.records) OVER (PARTITION BY r.Sex, r.Job) AS a_qid1
FROM rows_of_the_slide AS r
ORDER BY r.place;

-- Slide 8: once Accountant and Lawyer are both called Professional, the smallest a(qid1) is 3. All
-- nine are of class Y, so nothing is lost for who wants to predict the class.
WITH generalized AS (
    SELECT
        e.group_number,
        e.Sex,
        CASE WHEN e.Job IN ('Accountant', 'Lawyer') THEN 'Professional' ELSE e.Job END AS Job,
        e.Class,
        e.n
    FROM employees AS e
)
SELECT
    g.Sex,
    g.Job,
    concat(
        coalesce(sum(g.n) FILTER (WHERE g.Class = 'Y'), 0), 'Y',
        coalesce(sum(g.n) FILTER (WHERE g.Class = 'N'), 0), 'N'
    ) AS Class,
    sum(g.n) AS a_qid1
FROM generalized AS g
GROUP BY ALL
ORDER BY
    min(g.group_number);

-- ---------------------------------------------------------------------------------------------
-- 2. Taxonomies: what a value may be called instead
-- ---------------------------------------------------------------------------------------------

-- The entropy, in bits, of a set of records, of which each class has so many.
CREATE OR REPLACE TEMP MACRO entropy(counts) AS coalesce(
    list_sum([n / list_sum(counts) * log2(list_sum(counts) / n) for n in counts if n > 0]),
    0
);

-- A number has no taxonomy; TDS grows one. Each boundary between two salaries of [1, 99) is a
-- candidate. The split of slide 11 is the one with the largest information gain, and is named by
-- the smallest value of its right half: 37.
WITH class_counts AS (
    SELECT
        b.boundary,
        e.Class,
        sum(e.n) AS whole,
        coalesce(sum(e.n) FILTER (WHERE e.Salary < b.boundary), 0) AS below,
        coalesce(sum(e.n) FILTER (WHERE e.Salary >= b.boundary), 0) AS above
    FROM (SELECT DISTINCT l.Salary AS boundary FROM employees AS l) AS b
    CROSS JOIN employees AS e
    WHERE b.boundary > (SELECT min(l.Salary) FROM employees AS l)
    GROUP BY ALL
)
SELECT
    c.boundary,
    concat('[1, ', c.boundary, ')') AS left_half,
    concat('[', c.boundary, ', 99)') AS right_half,
    round(
        entropy(list(c.whole))
        - (sum(c.below) * entropy(list(c.below)) + sum(c.above) * entropy(list(c.above)))
        / sum(c.whole),
        6
    ) AS info_gain
FROM class_counts AS c
GROUP BY c.boundary
ORDER BY info_gain DESC, c.boundary ASC;

-- The taxonomies, an edge a row. Salary is that of slide 11. The slides name Blue-collar and
-- White-collar (slide 16) and Professional (slide 8); what is below Blue-collar is ours.
CREATE OR REPLACE TEMP TABLE taxonomy_edges AS
FROM (VALUES
    ('Sex', 'ANY_Sex', 'M'),
    ('Sex', 'ANY_Sex', 'F'),
    ('Job', 'ANY_Job', 'Blue-collar'),
    ('Job', 'ANY_Job', 'White-collar'),
    ('Job', 'Blue-collar', 'Non-Technical'),
    ('Job', 'Blue-collar', 'Technical'),
    ('Job', 'Non-Technical', 'Janitor'),
    ('Job', 'Non-Technical', 'Mover'),
    ('Job', 'Technical', 'Carpenter'),
    ('Job', 'Technical', 'Technician'),
    ('Job', 'White-collar', 'Manager'),
    ('Job', 'White-collar', 'Professional'),
    ('Job', 'Professional', 'Accountant'),
    ('Job', 'Professional', 'Lawyer'),
    ('Salary', '[1, 99)', '[1, 37)'),
    ('Salary', '[1, 99)', '[37, 99)')
) AS v (attribute, parent, child);

-- Write the attributes of each group below each other; a salary is named by the interval it is in.
CREATE OR REPLACE TEMP TABLE leaf_labels AS
WITH named_employees AS (
    SELECT
        e.group_number,
        e.Sex,
        e.Job,
        CASE WHEN e.Salary < 37 THEN '[1, 37)' ELSE '[37, 99)' END AS Salary
    FROM employees AS e
)
SELECT
    u.group_number,
    u.attribute,
    u.leaf
FROM (UNPIVOT named_employees ON Sex, Job, Salary INTO NAME attribute VALUE leaf) AS u;

-- All that a group may be called: its leaf, and every node above it. One row per group, attribute
-- and node, with the child of the node that is on the way down to the group.
CREATE OR REPLACE TEMP TABLE possible_labels AS
WITH RECURSIVE ways_up (group_number, attribute, node, child) AS (
    SELECT
        l.group_number,
        l.attribute,
        l.leaf AS node,
        CAST(NULL AS VARCHAR) AS child
    FROM leaf_labels AS l
    UNION ALL
    SELECT
        w.group_number,
        w.attribute,
        t.parent AS node,
        t.child
    FROM ways_up AS w
    JOIN taxonomy_edges AS t
        ON t.attribute = w.attribute
        AND t.child = w.node
)
FROM ways_up AS w;

-- ---------------------------------------------------------------------------------------------
-- 3. The state is the cut through the taxonomies
-- ---------------------------------------------------------------------------------------------

-- The quasi-identifiers of slide 16, an attribute a row. k1 is on slide 7; k2 is not in the text, 4
-- fits the slides.
CREATE OR REPLACE TEMP TABLE quasi_identifiers AS
FROM (VALUES
    ('Sex, Job', 'Sex', 4),
    ('Sex, Job', 'Job', 4),
    ('Job, Salary', 'Job', 4),
    ('Job, Salary', 'Salary', 4)
) AS v (qid, attribute, k);

-- The top of every taxonomy. The order of the attributes decides between equal scores.
CREATE OR REPLACE TEMP TABLE attributes AS
FROM (VALUES
    ('Sex', 'ANY_Sex', 1),
    ('Job', 'ANY_Job', 2),
    ('Salary', '[1, 99)', 3)
) AS v (attribute, top, attribute_order);

-- The nodes specialized so far: none at first, so the cut begins with the tops (the first two lines
-- of slide 11's algorithm).
CREATE OR REPLACE TEMP TABLE specialized_nodes (
    attribute VARCHAR,
    node VARCHAR
);

-- The cut: the tops and the children of all nodes that were specialized, without these nodes.
CREATE OR REPLACE TEMP VIEW cut_nodes AS
WITH reached_nodes AS (
    SELECT
        a.attribute,
        a.top AS node
    FROM attributes AS a
    UNION ALL
    SELECT
        t.attribute,
        t.child AS node
    FROM taxonomy_edges AS t
    JOIN specialized_nodes AS s
        ON s.attribute = t.attribute
        AND s.node = t.parent
)
SELECT
    r.attribute,
    r.node
FROM reached_nodes AS r
ANTI JOIN specialized_nodes AS s USING (attribute, node);

-- The generalized table: each group is called by its one possible label that is in the cut. This
-- view, and those below, follow specialized_nodes as it grows.
CREATE OR REPLACE TEMP VIEW generalized_employees AS
SELECT
    e.group_number,
    max(p.node) FILTER (WHERE p.attribute = 'Sex') AS Sex,
    max(p.node) FILTER (WHERE p.attribute = 'Job') AS Job,
    max(p.node) FILTER (WHERE p.attribute = 'Salary') AS Salary,
    e.Class,
    e.n
FROM employees AS e
JOIN possible_labels AS p USING (group_number)
JOIN cut_nodes AS c USING (attribute, node)
GROUP BY ALL;

-- Taxonomy Indexed PartitionS, TIPS (slide 15): the leaves of the tree of partitions, one row per
-- generalized record. Link[x] of the slides is: WHERE Sex = x (or Job, or Salary).
CREATE OR REPLACE TEMP VIEW partitions AS
SELECT
    g.Sex,
    g.Job,
    g.Salary,
    sum(g.n) AS records
FROM generalized_employees AS g
GROUP BY ALL
ORDER BY g.Salary ASC, g.Job ASC, g.Sex ASC;

-- A(QID), the anonymity: the smallest a(qid) of each quasi-identifier.
CREATE OR REPLACE TEMP VIEW anonymity AS
WITH qid_sizes AS (
    SELECT
        CASE WHEN grouping(p.Sex) = 0 THEN 'Sex, Job' ELSE 'Job, Salary' END AS qid,
        sum(p.records) AS records
    FROM partitions AS p
    GROUP BY GROUPING SETS ((p.Sex, p.Job), (p.Job, p.Salary))
)
SELECT
    s.qid,
    min(s.records) AS anonymity
FROM qid_sizes AS s
GROUP BY ALL;

-- ---------------------------------------------------------------------------------------------
-- 4. The score of a specialization: InfoGain(v) / (AnonyLoss(v) + 1)
-- ---------------------------------------------------------------------------------------------

-- The candidates: nodes of the cut that have children.
CREATE OR REPLACE TEMP VIEW candidates AS
SELECT
    c.attribute,
    c.node
FROM cut_nodes AS c
SEMI JOIN taxonomy_edges AS t
    ON t.attribute = c.attribute
    AND t.parent = c.node;

-- R_v, the records called v ("before"), and R_c, those called by its child c instead: count the
-- classes in each of them.
CREATE OR REPLACE TEMP VIEW class_counts AS
SELECT
    k.attribute,
    k.node,
    coalesce(p.child, 'before') AS record_set,
    e.Class,
    sum(e.n) AS records
FROM candidates AS k
JOIN possible_labels AS p USING (attribute, node)
JOIN employees AS e USING (group_number)
GROUP BY GROUPING SETS (
    (k.attribute, k.node, e.Class),
    (k.attribute, k.node, e.Class, p.child)
);

-- InfoGain(v) of slide 14: I(R_v) - sum over c of |R_c| / |R_v| * I(R_c), where I is the entropy.
-- The candidate is beneficial if R_v holds more than one class. (A gain is never below 0;
-- greatest() takes away what rounding may leave there.)
CREATE OR REPLACE TEMP VIEW candidate_gains AS
WITH entropies AS (
    SELECT
        c.attribute,
        c.node,
        c.record_set,
        count(*) AS classes,
        sum(c.records) AS records,
        entropy(list(c.records)) AS entropy
    FROM class_counts AS c
    GROUP BY ALL
)
SELECT
    e.attribute,
    e.node,
    greatest(
        max(e.entropy) FILTER (WHERE e.record_set = 'before')
        - sum(e.records * e.entropy) FILTER (WHERE e.record_set <> 'before')
        / max(e.records) FILTER (WHERE e.record_set = 'before'),
        0
    ) AS info_gain,
    max(e.classes) FILTER (WHERE e.record_set = 'before') > 1 AS beneficial
FROM entropies AS e
GROUP BY ALL;

-- A_v(QID): the anonymity as it would be with v specialized. Every candidate gets its own copy of
-- the generalized table, in which v is replaced by its children; the rest is a GROUP BY.
CREATE OR REPLACE TEMP VIEW candidate_anonymity AS
WITH trial_employees AS (
    SELECT
        k.attribute,
        k.node,
        CASE WHEN k.attribute = 'Sex' THEN coalesce(p.child, g.Sex) ELSE g.Sex END AS Sex,
        CASE WHEN k.attribute = 'Job' THEN coalesce(p.child, g.Job) ELSE g.Job END AS Job,
        CASE WHEN k.attribute = 'Salary' THEN coalesce(p.child, g.Salary) ELSE g.Salary END
            AS Salary,
        g.n
    FROM candidates AS k
    CROSS JOIN generalized_employees AS g
    LEFT JOIN possible_labels AS p USING (group_number, attribute, node)
),
trial_sizes AS (
    SELECT
        t.attribute,
        t.node,
        CASE WHEN grouping(t.Sex) = 0 THEN 'Sex, Job' ELSE 'Job, Salary' END AS qid,
        sum(t.n) AS records
    FROM trial_employees AS t
    GROUP BY GROUPING SETS (
        (t.attribute, t.node, t.Sex, t.Job),
        (t.attribute, t.node, t.Job, t.Salary)
    )
)
SELECT
    s.attribute,
    s.node,
    s.qid,
    min(s.records) AS anonymity
FROM trial_sizes AS s
GROUP BY ALL;

-- AnonyLoss(v): the average decrease of A over the quasi-identifiers that contain the attribute of
-- v. (The formulas of slide 13 are pictures, lost in the text; this is the definition of the ICDE
-- paper.) A candidate is valid if all of these quasi-identifiers keep their k.
CREATE OR REPLACE TEMP VIEW candidate_losses AS
SELECT
    k.attribute,
    k.node,
    avg(a.anonymity - k.anonymity) AS anony_loss,
    bool_and(k.anonymity >= q.k) AS valid
FROM candidate_anonymity AS k
JOIN quasi_identifiers AS q USING (qid, attribute)
JOIN anonymity AS a USING (qid)
GROUP BY ALL;

-- The score, and the place of each candidate: valid and beneficial ones only, the highest score
-- first; between equal scores (the slides are silent) the order of the attributes, then that of the
-- labels decides.
CREATE OR REPLACE TEMP VIEW candidate_scores AS
SELECT
    k.attribute,
    k.node,
    g.info_gain,
    l.anony_loss,
    g.info_gain / (l.anony_loss + 1) AS score,
    l.valid,
    g.beneficial,
    CASE
        WHEN l.valid AND g.beneficial
            THEN row_number() OVER (
                ORDER BY
                    l.valid AND g.beneficial DESC,
                    round(g.info_gain / (l.anony_loss + 1), 12) DESC,
                    a.attribute_order ASC,
                    k.node ASC
            )
    END AS place
FROM candidates AS k
JOIN attributes AS a USING (attribute)
JOIN candidate_gains AS g USING (attribute, node)
JOIN candidate_losses AS l USING (attribute, node);

-- ---------------------------------------------------------------------------------------------
-- 5. The run: print the candidates, specialize the winner, repeat
-- ---------------------------------------------------------------------------------------------

-- Slide 16, the root of TIPS: one partition with all 34 records.
FROM partitions AS p;

-- What a round looks at: every candidate with its score, the winner first.
CREATE OR REPLACE TEMP VIEW ranked_candidates AS
SELECT
    s.place,
    s.attribute,
    s.node,
    round(s.info_gain, 6) AS info_gain,
    round(s.anony_loss, 6) AS anony_loss,
    round(s.score, 6) AS score,
    s.valid,
    s.beneficial
FROM candidate_scores AS s
ORDER BY s.place ASC NULLS LAST, s.attribute ASC, s.node ASC;

-- Round 1: Salary has the largest gain. It costs 22: A(QID2) falls from 34 to 12.
FROM ranked_candidates AS r;

-- What a round specializes: the candidate in the first place.
CREATE OR REPLACE TEMP VIEW winner AS
SELECT
    s.attribute,
    s.node
FROM candidate_scores AS s
WHERE s.place = 1;

-- Specialize the winner; in the cut are now [1, 37) and [37, 99) of Salary.
INSERT INTO specialized_nodes
FROM winner AS w;

-- Slide 16, after the first specialization: partitions of 12 and 22 records.
FROM partitions AS p;

-- Round 2: Job costs 13 on the average: A(QID1) falls from 34 to 16, A(QID2) from 12 to 4.
FROM ranked_candidates AS r;

-- Specialize the winner; in the cut are now Blue-collar and White-collar of Job.
INSERT INTO specialized_nodes
FROM winner AS w;

-- Slide 16, after the second specialization: 12, 4 and 18 records, where the slide ends.
FROM partitions AS p;

-- Round 3: Blue-collar gains most: all who are Non-Technical are of class N.
FROM ranked_candidates AS r;

-- Specialize the winner; in the cut are now Non-Technical and Technical of Job.
INSERT INTO specialized_nodes
FROM winner AS w;

-- The partitions after round 3: [1, 37) of Blue-collar is split into 7 and 5 records.
FROM partitions AS p;

-- Round 4: White-collar costs nothing: both of its halves hold nine, more than A.
FROM ranked_candidates AS r;

-- Specialize the winner; in the cut are now Manager and Professional of Job.
INSERT INTO specialized_nodes
FROM winner AS w;

-- The partitions after round 4.
FROM partitions AS p;

-- Round 5: Technical costs less than Sex and is ahead of it, although Sex gains more.
FROM ranked_candidates AS r;

-- Specialize the winner; in the cut are now Carpenter and Technician of Job.
INSERT INTO specialized_nodes
FROM winner AS w;

-- The partitions after round 5.
FROM partitions AS p;

-- Round 6: Sex alone is left. Each job but Professional has one sex, so it costs nothing now.
FROM ranked_candidates AS r;

-- Specialize the winner; in the cut are now M and F of Sex.
INSERT INTO specialized_nodes
FROM winner AS w;

-- The partitions after round 6.
FROM partitions AS p;

-- No candidate is valid and beneficial any more: Non-Technical and Professional stay as they are.
FROM ranked_candidates AS r;

-- ---------------------------------------------------------------------------------------------
-- 6. The release
-- ---------------------------------------------------------------------------------------------

-- The generalized table, alike records collapsed.
SELECT
    g.Sex,
    g.Job,
    g.Salary,
    concat(
        coalesce(sum(g.n) FILTER (WHERE g.Class = 'Y'), 0), 'Y',
        coalesce(sum(g.n) FILTER (WHERE g.Class = 'N'), 0), 'N'
    ) AS Class,
    sum(g.n) AS records
FROM generalized_employees AS g
GROUP BY ALL
ORDER BY
    min(g.group_number);

-- Both quasi-identifiers keep their k: nobody who knows Sex and Job, or Job and Salary, finds fewer
-- than four records.
SELECT DISTINCT
    a.qid,
    a.anonymity,
    q.k,
    a.anonymity >= q.k AS holds
FROM anonymity AS a
JOIN quasi_identifiers AS q USING (qid)
ORDER BY a.qid DESC;
