-- Anonymity by generalization, guided by hierarchical conditional entropy: HCE-TDR, in plain SQL.
-- Source: Ye, Wu, Hu, Hu 2013, "Anonymizing Classification Data Using Rough Set Theory",
-- Knowledge-Based Systems 43, doi:10.1016/j.knosys.2013.01.007.
--
-- Run it from top to bottom: duckdb < hce_tdr.sql, or .read hce_tdr.sql at the prompt of any
-- database. Everything it makes is temporary and gone when the shell is closed; until then, query
-- it. "ppdm generalize --method hce-tdr" takes the same steps; where the text is silent, it is said
-- what is assumed.

-- ---------------------------------------------------------------------------------------------
-- 1. The example: a decision table S = (P u Q, D)
-- ---------------------------------------------------------------------------------------------

-- The paper's Figure 1 is a picture, lost in the text. Its text gives the quasi-identifier
-- Q = {Job, Age, Sex}, k = 3, the taxonomies' nodes and the two groups of the outcome. These eight
-- people are ours, and so is P = {Overtime}: a condition attribute that is released in full detail.
-- D = Income is the decision, the class that a miner is to predict.
CREATE OR REPLACE TEMP TABLE people AS
FROM (VALUES
    (1, 'Adm_clerical', 41, 'Male', 'No', 'high'),
    (2, 'Sales', 45, 'Male', 'No', 'high'),
    (3, 'Sales', 52, 'Male', 'No', 'high'),
    (4, 'Adm_clerical', 63, 'Male', 'Yes', 'low'),
    (5, 'Craft_repair', 23, 'Female', 'No', 'low'),
    (6, 'Cleaners', 31, 'Female', 'No', 'low'),
    (7, 'Craft_repair', 38, 'Female', 'Yes', 'high'),
    (8, 'Cleaners', 36, 'Female', 'No', 'low')
) AS v (person, Job, Age, Sex, Overtime, Income);

-- Who joins such a table with a public one finds everybody: all eight are alone with their Job, Age
-- and Sex, so the table is 1-anonymous.
WITH equivalence_classes AS (
    SELECT
        p.Job,
        p.Age,
        p.Sex,
        count(*) AS records
    FROM people AS p
    GROUP BY ALL
)
SELECT
    count(*) AS equivalence_classes,
    min(c.records) AS anonymity
FROM equivalence_classes AS c;

-- ---------------------------------------------------------------------------------------------
-- 2. Conditional entropy: how well attributes classify
-- ---------------------------------------------------------------------------------------------

-- H(D | B) is the entropy of D that is left in the equivalence classes of the attributes B,
-- weighted by their records: the mean over the records of log2(1 / share), where share is that of
-- the record's own D in its class. Alone, neither Overtime nor White-collar against Blue-collar
-- tells much; together they tell Income exactly. A gain that looks at one attribute by itself, as
-- the InfoGain of TDS does, cannot see that: it is 1 - 0.811 = 0.189 for Job.
WITH known_attributes AS (
    SELECT
        unnest(['{}', '{Overtime}', '{Job}', '{Overtime, Job}']) AS attributes,
        unnest([false, true, false, true]) AS knows_overtime,
        unnest([false, false, true, true]) AS knows_job
),
known_people AS (
    SELECT
        k.attributes,
        p.Income,
        CASE WHEN k.knows_overtime THEN p.Overtime END AS Overtime,
        CASE WHEN k.knows_job THEN p.Job IN ('Adm_clerical', 'Sales') END AS white_collar
    FROM known_attributes AS k
    CROSS JOIN people AS p
),
shares AS (
    SELECT
        k.attributes,
        count(*) OVER (PARTITION BY k.attributes, k.Overtime, k.white_collar, k.Income)
            / count(*) OVER (PARTITION BY k.attributes, k.Overtime, k.white_collar) AS share
    FROM known_people AS k
)
SELECT
    s.attributes,
    round(avg(log2(1 / s.share)), 6) AS conditional_entropy
FROM shares AS s
GROUP BY ALL
ORDER BY conditional_entropy DESC, s.attributes ASC;

-- ---------------------------------------------------------------------------------------------
-- 3. Taxonomies and the cut
-- ---------------------------------------------------------------------------------------------

-- The attribute value taxonomies AVT(Job), AVT(Age), AVT(Sex), an edge a row. The leaves below
-- Blue_collar and the interval [1, 35) are ours.
CREATE OR REPLACE TEMP TABLE taxonomy_edges AS
FROM (VALUES
    ('Job', 'ANY_Job', 'White_collar'),
    ('Job', 'ANY_Job', 'Blue_collar'),
    ('Job', 'White_collar', 'Adm_clerical'),
    ('Job', 'White_collar', 'Sales'),
    ('Job', 'Blue_collar', 'Craft_repair'),
    ('Job', 'Blue_collar', 'Cleaners'),
    ('Age', '[1, 99)', '[1, 40)'),
    ('Age', '[1, 99)', '[40, 99)'),
    ('Age', '[1, 40)', '[1, 35)'),
    ('Age', '[1, 40)', '[35, 40)'),
    ('Sex', 'ANY_Sex', 'Male'),
    ('Sex', 'ANY_Sex', 'Female')
) AS v (attribute, parent, child);

-- Write the attributes of each person below each other; an age is named by its smallest interval.
CREATE OR REPLACE TEMP TABLE leaf_labels AS
WITH named_people AS (
    SELECT
        p.person,
        p.Job,
        CASE WHEN p.Age < 35 THEN '[1, 35)' WHEN p.Age < 40 THEN '[35, 40)' ELSE '[40, 99)' END
            AS Age,
        p.Sex
    FROM people AS p
)
SELECT
    u.person,
    u.attribute,
    u.leaf
FROM (UNPIVOT named_people ON Job, Age, Sex INTO NAME attribute VALUE leaf) AS u;

-- All that a person's value may be called: its leaf, and every node above it. One row per person,
-- attribute and node, with the child of the node that is on the way down to the person.
CREATE OR REPLACE TEMP TABLE possible_labels AS
WITH RECURSIVE ways_up (person, attribute, node, child) AS (
    SELECT
        l.person,
        l.attribute,
        l.leaf AS node,
        CAST(NULL AS VARCHAR) AS child
    FROM leaf_labels AS l
    UNION ALL
    SELECT
        w.person,
        w.attribute,
        t.parent AS node,
        t.child
    FROM ways_up AS w
    JOIN taxonomy_edges AS t
        ON t.attribute = w.attribute
        AND t.child = w.node
)
FROM ways_up AS w;

-- The most general value of each taxonomy. The order of the attributes decides between equal
-- scores.
CREATE OR REPLACE TEMP TABLE attributes AS
FROM (VALUES
    ('Job', 'ANY_Job', 1),
    ('Age', '[1, 99)', 2),
    ('Sex', 'ANY_Sex', 3)
) AS v (attribute, top, attribute_order);

-- The nodes refined so far: none at first, so the global cut begins with the most general values.
CREATE OR REPLACE TEMP TABLE refined_nodes (
    attribute VARCHAR,
    node VARCHAR
);

-- The cut: the most general values and the children of all refined nodes, without these nodes.
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
    JOIN refined_nodes AS s
        ON s.attribute = t.attribute
        AND s.node = t.parent
)
SELECT
    r.attribute,
    r.node
FROM reached_nodes AS r
ANTI JOIN refined_nodes AS s USING (attribute, node);

-- The anonymous table at the present cut (full-subtree generalization). This view, and those below,
-- follow refined_nodes as it grows.
CREATE OR REPLACE TEMP VIEW anonymous_people AS
SELECT
    p.person,
    max(l.node) FILTER (WHERE l.attribute = 'Job') AS Job,
    max(l.node) FILTER (WHERE l.attribute = 'Age') AS Age,
    max(l.node) FILTER (WHERE l.attribute = 'Sex') AS Sex,
    p.Overtime,
    p.Income
FROM people AS p
JOIN possible_labels AS l USING (person)
JOIN cut_nodes AS c USING (attribute, node)
GROUP BY ALL;

-- ---------------------------------------------------------------------------------------------
-- 4. The score of a refinement: information gained per unit of anonymity lost
-- ---------------------------------------------------------------------------------------------

-- The anonymous table as it would be, once for each candidate: a node of the cut that has children,
-- replaced by them. The candidate '-' stands for the present table, to compare with.
CREATE OR REPLACE TEMP VIEW trial_people AS
WITH candidates AS (
    SELECT
        c.attribute,
        c.node
    FROM cut_nodes AS c
    SEMI JOIN taxonomy_edges AS t
        ON t.attribute = c.attribute
        AND t.parent = c.node
    UNION ALL
    SELECT
        '-' AS attribute,
        '-' AS node
)
SELECT
    k.attribute,
    k.node,
    a.person,
    CASE WHEN k.attribute = 'Job' THEN coalesce(l.child, a.Job) ELSE a.Job END AS Job,
    CASE WHEN k.attribute = 'Age' THEN coalesce(l.child, a.Age) ELSE a.Age END AS Age,
    CASE WHEN k.attribute = 'Sex' THEN coalesce(l.child, a.Sex) ELSE a.Sex END AS Sex,
    a.Overtime,
    a.Income,
    l.child IS NOT NULL AS refined
FROM candidates AS k
CROSS JOIN anonymous_people AS a
LEFT JOIN possible_labels AS l USING (person, attribute, node);

-- H(D | P u Q_v), the hierarchical conditional entropy: over the equivalence classes of the whole
-- table, P at full detail, Q at the cut in which v is refined. A_v, the anonymity: the smallest
-- equivalence class on Q alone, which is what others may know. A refinement is beneficial if those
-- called v are of more than one class.
CREATE OR REPLACE TEMP VIEW candidate_measures AS
WITH trial_shares AS (
    SELECT
        t.attribute,
        t.node,
        t.Income,
        t.refined,
        count(*) OVER (PARTITION BY t.attribute, t.node, t.Job, t.Age, t.Sex) AS class_records,
        count(*) OVER (
            PARTITION BY t.attribute, t.node, t.Overtime, t.Job, t.Age, t.Sex, t.Income
        ) / count(*) OVER (
            PARTITION BY t.attribute, t.node, t.Overtime, t.Job, t.Age, t.Sex
        ) AS share
    FROM trial_people AS t
)
SELECT
    s.attribute,
    s.node,
    avg(log2(1 / s.share)) AS conditional_entropy,
    min(s.class_records) AS anonymity,
    count(DISTINCT s.Income) FILTER (WHERE s.refined) > 1 AS beneficial
FROM trial_shares AS s
GROUP BY ALL;

-- Gain = H(D | P u Q) - H(D | P u Q_v), loss = A - A_v. "Information gained per each loss of
-- anonymity" is read as gain / (loss + 1), as in TDS; the paper's formula is not in the text. The
-- place counts candidates that keep k = 3 and are beneficial, the highest score first; between
-- equal scores the order of the attributes, then that of the labels decides.
CREATE OR REPLACE TEMP VIEW candidate_scores AS
WITH measured AS (
    SELECT
        c.attribute,
        c.node,
        k.attribute_order,
        c.conditional_entropy,
        o.conditional_entropy - c.conditional_entropy AS gain,
        o.anonymity - c.anonymity AS loss,
        c.anonymity >= 3 AS valid,
        c.beneficial
    FROM candidate_measures AS c
    JOIN attributes AS k USING (attribute)
    JOIN candidate_measures AS o
        ON o.attribute = '-'
)
SELECT
    m.attribute,
    m.node,
    m.conditional_entropy,
    m.gain,
    m.loss,
    m.gain / (m.loss + 1) AS score,
    m.valid,
    m.beneficial,
    CASE
        WHEN m.valid AND m.beneficial
            THEN row_number() OVER (
                ORDER BY
                    m.valid AND m.beneficial DESC,
                    round(m.gain / (m.loss + 1), 12) DESC,
                    m.attribute_order ASC,
                    m.node ASC
            )
    END AS place
FROM measured AS m;

-- ---------------------------------------------------------------------------------------------
-- 5. The run: print the candidates, refine the winner, repeat
-- ---------------------------------------------------------------------------------------------

-- What a round looks at: every candidate with its score, the winner first.
CREATE OR REPLACE TEMP VIEW ranked_candidates AS
SELECT
    s.place,
    s.attribute,
    s.node,
    round(s.conditional_entropy, 6) AS conditional_entropy,
    round(s.gain, 6) AS gain,
    s.loss,
    round(s.score, 6) AS score,
    s.valid,
    s.beneficial
FROM candidate_scores AS s
ORDER BY s.place ASC NULLS LAST, s.attribute ASC, s.node ASC;

-- Round 1: with Overtime in P, each of the three tells Income exactly: H goes from 1 to 0. Job is
-- first.
FROM ranked_candidates AS r;

-- What a round refines: the candidate in the first place.
CREATE OR REPLACE TEMP VIEW winner AS
SELECT
    s.attribute,
    s.node
FROM candidate_scores AS s
WHERE s.place = 1;

-- Refine the winner; in the cut are now White_collar and Blue_collar of Job.
INSERT INTO refined_nodes
FROM winner AS w;

-- Round 2: Age tells nothing that Job does not, so its gain is 0; it costs nothing either. (TDS,
-- which looks at an attribute by itself, would count the same 0.189 again.)
FROM ranked_candidates AS r;

-- Refine the winner; in the cut are now [1, 40) and [40, 99) of Age.
INSERT INTO refined_nodes
FROM winner AS w;

-- Round 3: Sex likewise. White_collar and the other nodes below would leave fewer than 3 records.
FROM ranked_candidates AS r;

-- Refine the winner; in the cut are now Male and Female of Sex.
INSERT INTO refined_nodes
FROM winner AS w;

-- No candidate is valid any more, so the run ends.
FROM ranked_candidates AS r;

-- ---------------------------------------------------------------------------------------------
-- 6. The release
-- ---------------------------------------------------------------------------------------------

-- The 3-anonymous table has the two groups of the paper's Figure 1b: (White_collar, [40, 99), Male)
-- and (Blue_collar, [1, 40), Female), each with at least 3 records.
SELECT
    a.Job,
    a.Age,
    a.Sex,
    count(*) AS records
FROM anonymous_people AS a
GROUP BY ALL
ORDER BY a.Job DESC;

-- The data metric: the anonymous table classifies as well as the original one. H(D | P u Q) is 0 in
-- it, as it is where all eight are alone.
SELECT round(h.conditional_entropy, 6) AS conditional_entropy
FROM candidate_measures AS h
WHERE h.attribute = '-';
