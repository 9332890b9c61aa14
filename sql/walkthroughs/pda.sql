-- Template-based privacy by suppression: the Progressive Disclosure Algorithm (PDA), in plain SQL.
-- Source: Wang, Fung, Yu 2005, "Template Based Privacy Preservation in Classification Problems",
-- ICDM.
--
-- Run it from top to bottom: duckdb < pda.sql, or .read pda.sql at the prompt of any database.
-- Everything it makes is temporary and gone when the shell is closed; until then, query it.
-- "ppdm suppress" takes the same steps; where the paper is silent, the text says what it assumes.

-- ---------------------------------------------------------------------------------------------
-- 1. The example: bank customers, and what their job and country give away
-- ---------------------------------------------------------------------------------------------

-- Enter the paper's Table 1: ten groups of alike customers, n records each.
CREATE OR REPLACE TEMP TABLE customers AS
FROM (VALUES
    (1, 'Cook', 'US', 'No', 'Current', 'Bad', 4),
    (2, 'Artist', 'France', 'No', 'Current', 'Good', 1),
    (3, 'Artist', 'France', 'No', 'Current', 'Bad', 3),
    (4, 'Doctor', 'US', 'Yes', 'Never', 'Good', 4),
    (5, 'Doctor', 'US', 'Yes', 'Never', 'Bad', 2),
    (6, 'Trader', 'UK', 'No', 'Discharged', 'Good', 4),
    (7, 'Trader', 'UK', 'No', 'Never', 'Good', 1),
    (8, 'Trader', 'Canada', 'No', 'Never', 'Good', 1),
    (9, 'Clerk', 'Canada', 'No', 'Never', 'Good', 3),
    (10, 'Clerk', 'Canada', 'No', 'Discharged', 'Good', 1)
) AS v (group_number, Job, Country, Child, Bankruptcy, Rating, n);

-- Print Table 1 as the paper does, the class Rating as frequencies: 0G/4B is no Good and 4 Bad.
SELECT
    c.Job,
    c.Country,
    c.Child,
    c.Bankruptcy,
    concat(
        coalesce(sum(c.n) FILTER (WHERE c.Rating = 'Good'), 0), 'G/',
        coalesce(sum(c.n) FILTER (WHERE c.Rating = 'Bad'), 0), 'B'
    ) AS Rating,
    sum(c.n) AS records
FROM customers AS c
GROUP BY ALL
ORDER BY
    min(c.group_number);

-- Example 1: how confidently do Job and Country tell that a customer was discharged?
-- The confidence of ic -> pi is s(ic, pi) / s(ic), two counts of one GROUP BY. {Trader, UK} has
-- support 5 and confidence 80 %, more than the 75 % that the bank tolerates.
SELECT
    c.Job,
    c.Country,
    sum(c.n) AS support,
    coalesce(sum(c.n) FILTER (WHERE c.Bankruptcy = 'Discharged'), 0) AS discharged,
    round(
        100.0 * coalesce(sum(c.n) FILTER (WHERE c.Bankruptcy = 'Discharged'), 0) / sum(c.n),
        2
    ) AS confidence_percent
FROM customers AS c
GROUP BY ALL
ORDER BY confidence_percent DESC, c.Job ASC, c.Country ASC;

-- ---------------------------------------------------------------------------------------------
-- 2. Suppression: the state is the set of disclosed values
-- ---------------------------------------------------------------------------------------------

-- Example 2's templates: neither {Job, Country} nor {Job, Child} may tell Discharged with more
-- than 50 %. Each row is one attribute of an inference channel IC.
CREATE OR REPLACE TEMP TABLE template_attributes AS
FROM (VALUES
    ('Job, Country', 'Job', 0.5),
    ('Job, Country', 'Country', 0.5),
    ('Job, Child', 'Job', 0.5),
    ('Job, Child', 'Child', 0.5)
) AS v (channel, attribute, threshold);

-- The masking attributes, in the order in which they are named: it decides between equal scores.
CREATE OR REPLACE TEMP TABLE masking_attributes AS
FROM (VALUES
    ('Job', 1),
    ('Country', 2),
    ('Child', 3)
) AS v (attribute, attribute_order);

-- The values disclosed so far: none at first, the most suppressed table (lines 1 and 2 of PDA).
CREATE OR REPLACE TEMP TABLE disclosed_values (
    attribute VARCHAR,
    value VARCHAR
);

-- The suppressed table: a value that is not disclosed is shown as the special value of its
-- attribute. This view, and those below, follow disclosed_values as it grows.
CREATE OR REPLACE TEMP VIEW suppressed_customers AS
WITH disclosed AS (
    SELECT
        list(d.value) FILTER (WHERE d.attribute = 'Job') AS jobs,
        list(d.value) FILTER (WHERE d.attribute = 'Country') AS countries,
        list(d.value) FILTER (WHERE d.attribute = 'Child') AS children
    FROM disclosed_values AS d
)
SELECT
    c.group_number,
    CASE WHEN list_contains(d.jobs, c.Job) THEN c.Job ELSE '⊥Job' END AS Job,
    CASE WHEN list_contains(d.countries, c.Country) THEN c.Country ELSE '⊥Country' END AS Country,
    CASE WHEN list_contains(d.children, c.Child) THEN c.Child ELSE '⊥Child' END AS Child,
    c.Bankruptcy,
    c.Rating,
    c.n
FROM customers AS c
CROSS JOIN disclosed AS d;

-- Value Indexed Partitions, VIP (Definition 4.1): one row per suppressed record over the masking
-- attributes, with |P| and s(pi). Link[x] of the paper is: WHERE Job = x (or Country, or Child).
CREATE OR REPLACE TEMP VIEW partitions AS
SELECT
    s.Job,
    s.Country,
    s.Child,
    sum(s.n) AS records,
    coalesce(sum(s.n) FILTER (WHERE s.Bankruptcy = 'Discharged'), 0) AS discharged
FROM suppressed_customers AS s
GROUP BY ALL;

-- The IC trees (Definition 4.2), a row per leaf: each ic of both channels with s(ic), s(ic, pi).
CREATE OR REPLACE TEMP VIEW channel_leaves AS
SELECT
    CASE WHEN grouping(p.Country) = 0 THEN 'Job, Country' ELSE 'Job, Child' END AS channel,
    concat_ws(', ', p.Job, p.Country, p.Child) AS ic,
    sum(p.records) AS records,
    sum(p.discharged) AS discharged
FROM partitions AS p
GROUP BY GROUPING SETS ((p.Job, p.Country), (p.Job, p.Child));

-- Conf(IC -> pi) is the largest confidence among the leaves of a channel.
CREATE OR REPLACE TEMP VIEW channel_confidences AS
SELECT
    l.channel,
    max(l.discharged / l.records) AS confidence
FROM channel_leaves AS l
GROUP BY ALL;

-- ---------------------------------------------------------------------------------------------
-- 3. Figures 1 and 2: how partitions and confidences evolve
-- ---------------------------------------------------------------------------------------------
-- Examples 3 and 4 suppose that Clerk and then Canada win, to show the data structures. (They are
-- not the winners of the algorithm, as section 5 shows.)

-- Figure 1 shows the partitions of the VIP.
CREATE OR REPLACE TEMP VIEW figure_1 AS
SELECT
    p.Job,
    p.Country,
    p.Child,
    p.records AS total,
    p.discharged
FROM partitions AS p
ORDER BY p.Job DESC, p.Country DESC, p.Child DESC;

-- Figure 1, initially: the partitions of the VIP.
FROM figure_1 AS f;

-- Figure 2 shows the leaves of both IC trees, and Conf(IC -> pi) beside them.
CREATE OR REPLACE TEMP VIEW figure_2 AS
SELECT
    l.channel,
    l.ic,
    l.discharged,
    l.records,
    round(100 * c.confidence, 2) AS channel_confidence_percent
FROM channel_leaves AS l
JOIN channel_confidences AS c USING (channel)
ORDER BY l.channel DESC, l.ic DESC;

-- Figure 2, initially: the leaves of both IC trees, and Conf(IC -> pi) beside them.
FROM figure_2 AS f;

-- Suppose that the winner is Clerk: a new partition splits off.
INSERT INTO disclosed_values
SELECT
    'Job' AS attribute,
    'Clerk' AS value;

-- Figure 1, after disclosing Clerk: the partitions of the VIP.
FROM figure_1 AS f;

-- Figure 2, after disclosing Clerk: the leaves of both IC trees, and Conf(IC -> pi) beside them.
FROM figure_2 AS f;

-- Suppose that the next winner is Canada: it refines both partitions on Link[⊥Country].
INSERT INTO disclosed_values
SELECT
    'Country' AS attribute,
    'Canada' AS value;

-- Figure 1, after disclosing Canada: the partitions of the VIP.
FROM figure_1 AS f;

-- Figure 2, after disclosing Canada: the leaves of both IC trees, and Conf(IC -> pi) beside them.
FROM figure_2 AS f;

-- Start again from the most suppressed table for the run of the algorithm itself.
DELETE FROM disclosed_values AS d;

-- ---------------------------------------------------------------------------------------------
-- 4. The score of a candidate: InfoGain(v) / (PrivLoss(v) + 1)
-- ---------------------------------------------------------------------------------------------

-- Write the masking attributes of each group below each other: group, attribute, original value.
CREATE OR REPLACE TEMP TABLE original_values AS
SELECT
    u.group_number,
    u.attribute,
    u.value
FROM (UNPIVOT customers ON Job, Country, Child INTO NAME attribute VALUE value) AS u;

-- The candidates: for each attribute, Sup_j, the values that are still suppressed.
CREATE OR REPLACE TEMP VIEW candidates AS
SELECT DISTINCT
    o.attribute,
    o.value
FROM original_values AS o
WHERE NOT EXISTS (
    SELECT 1
    FROM disclosed_values AS d
    WHERE d.attribute = o.attribute
        AND d.value = o.value
);

-- The entropy, in bits, of a set of records, of which each class has so many.
CREATE OR REPLACE TEMP MACRO entropy(counts) AS coalesce(
    list_sum([n / list_sum(counts) * log2(list_sum(counts) / n) for n in counts if n > 0]),
    0
);

-- T[bottom], the records that contain the special value of an attribute ("before"): disclosing v
-- replaces it with T[v] ("disclosed") and the others ("rest"). Count the classes in each of the
-- three, for every candidate; InfoGain needs no more than these counts.
CREATE OR REPLACE TEMP VIEW class_counts AS
WITH suppressed_counts AS (
    SELECT
        o.attribute,
        o.value,
        c.Rating,
        sum(c.n) AS records
    FROM original_values AS o
    SEMI JOIN candidates AS k USING (attribute, value)
    JOIN customers AS c USING (group_number)
    GROUP BY ALL
)
SELECT
    k.attribute,
    k.value,
    s.Rating,
    sum(s.records) AS before,
    coalesce(sum(s.records) FILTER (WHERE s.value = k.value), 0) AS disclosed,
    coalesce(sum(s.records) FILTER (WHERE s.value <> k.value), 0) AS rest
FROM candidates AS k
JOIN suppressed_counts AS s USING (attribute)
GROUP BY ALL;

-- InfoGain(v): the entropy of "before" less the entropies of "disclosed" and "rest", weighted by
-- their records. The candidate is beneficial if more than one class is involved in the records that
-- contain the special value. (A gain is never below 0; greatest() takes away what rounding may
-- leave there.)
CREATE OR REPLACE TEMP VIEW candidate_gains AS
SELECT
    c.attribute,
    c.value,
    greatest(
        entropy(list(c.before))
        - (
            sum(c.disclosed) * entropy(list(c.disclosed)) + sum(c.rest) * entropy(list(c.rest))
        ) / sum(c.before),
        0
    ) AS info_gain,
    count(*) > 1 AS beneficial
FROM class_counts AS c
GROUP BY ALL;

-- Conf_v(IC -> pi): the confidences as they would be with v disclosed. Every candidate gets its own
-- copy of the suppressed table, in which v is shown; the rest is the GROUP BY of the IC trees.
CREATE OR REPLACE TEMP VIEW candidate_confidences AS
WITH trial_customers AS (
    SELECT
        k.attribute,
        k.value,
        CASE WHEN k.attribute = 'Job' AND k.value = c.Job THEN c.Job ELSE s.Job END AS Job,
        CASE WHEN k.attribute = 'Country' AND k.value = c.Country THEN c.Country ELSE s.Country END
            AS Country,
        CASE WHEN k.attribute = 'Child' AND k.value = c.Child THEN c.Child ELSE s.Child END
            AS Child,
        CASE WHEN c.Bankruptcy = 'Discharged' THEN c.n ELSE 0 END AS discharged,
        c.n
    FROM candidates AS k
    CROSS JOIN customers AS c
    JOIN suppressed_customers AS s USING (group_number)
),
trial_leaves AS (
    SELECT
        t.attribute,
        t.value,
        CASE WHEN grouping(t.Country) = 0 THEN 'Job, Country' ELSE 'Job, Child' END AS channel,
        sum(t.discharged) / sum(t.n) AS confidence
    FROM trial_customers AS t
    GROUP BY GROUPING SETS (
        (t.attribute, t.value, t.Job, t.Country),
        (t.attribute, t.value, t.Job, t.Child)
    )
)
SELECT
    l.attribute,
    l.value,
    l.channel,
    max(l.confidence) AS confidence
FROM trial_leaves AS l
GROUP BY ALL;

-- PrivLoss(v): the average increase of Conf over the channels that contain the attribute of v,
-- those that do not change included. It is measured in fractions; the paper does not say whether it
-- means percent, which would weigh privacy a hundred times more. A candidate is valid if no channel
-- passes its threshold.
CREATE OR REPLACE TEMP VIEW candidate_losses AS
SELECT
    k.attribute,
    k.value,
    avg(k.confidence - b.confidence) AS priv_loss,
    bool_and(k.confidence <= t.threshold) AS valid
FROM candidate_confidences AS k
JOIN template_attributes AS t USING (channel, attribute)
JOIN channel_confidences AS b USING (channel)
GROUP BY ALL;

-- Score(v), equation (1). The place is that of the algorithm: valid and beneficial candidates only,
-- the highest score first; between equal scores (the paper is silent) the order of the attributes,
-- then that of the values decides.
CREATE OR REPLACE TEMP VIEW candidate_scores AS
SELECT
    g.attribute,
    g.value,
    g.info_gain,
    l.priv_loss,
    g.info_gain / (l.priv_loss + 1) AS score,
    l.valid,
    g.beneficial,
    CASE
        WHEN l.valid AND g.beneficial
            THEN row_number() OVER (
                ORDER BY
                    l.valid AND g.beneficial DESC,
                    round(g.info_gain / (l.priv_loss + 1), 12) DESC,
                    m.attribute_order ASC,
                    g.value ASC
            )
    END AS place
FROM candidate_gains AS g
JOIN candidate_losses AS l USING (attribute, value)
JOIN masking_attributes AS m USING (attribute);

-- ---------------------------------------------------------------------------------------------
-- 5. The run: print the candidates, disclose the winner, repeat
-- ---------------------------------------------------------------------------------------------

-- Before the first round, look at the two confidences that each candidate would lead to (Conf_v):
-- Trader and UK would break the templates, so they are not valid.
SELECT
    k.attribute,
    k.value,
    round(100 * max(k.confidence) FILTER (WHERE k.channel = 'Job, Country'), 2)
        AS job_country_percent,
    round(100 * max(k.confidence) FILTER (WHERE k.channel = 'Job, Child'), 2) AS job_child_percent
FROM candidate_confidences AS k
GROUP BY ALL
ORDER BY job_country_percent DESC, k.attribute ASC, k.value ASC;

-- What a round looks at: every candidate with its score, the winner first.
CREATE OR REPLACE TEMP VIEW ranked_candidates AS
SELECT
    s.place,
    s.attribute,
    s.value,
    round(s.info_gain, 6) AS info_gain,
    round(s.priv_loss, 6) AS priv_loss,
    round(s.score, 6) AS score,
    s.valid,
    s.beneficial
FROM candidate_scores AS s
ORDER BY s.place ASC NULLS LAST, s.attribute ASC, s.value ASC;

-- Round 1: every candidate with its score. Cook gains most, since all cooks are Bad.
FROM ranked_candidates AS r;

-- What a round discloses: the candidate in the first place.
CREATE OR REPLACE TEMP VIEW winner AS
SELECT
    s.attribute,
    s.value
FROM candidate_scores AS s
WHERE s.place = 1;

-- Cook is disclosed: in both channels the confidence goes from 20.83 % to 25 %.
INSERT INTO disclosed_values
FROM winner AS w;

-- Round 2: Artist is ahead of Canada, which loses less but gains less too.
FROM ranked_candidates AS r;

-- Artist is disclosed: 5 of the 16 records left under ⊥Job were discharged, 31.25 %.
INSERT INTO disclosed_values
FROM winner AS w;

-- Round 3: Doctor still beats Canada; the two gains have come close.
FROM ranked_candidates AS r;

-- Doctor is disclosed: ⊥Job now stands for Trader and Clerk only, and 5 of their 10 records were
-- discharged, 50 %: no channel may lose anything from here on.
INSERT INTO disclosed_values
FROM winner AS w;

-- Round 4: Canada and UK are no longer valid, since showing one tells the other: {⊥Job, UK}
-- would be 80 %. Clerk and Trader are neither valid nor beneficial, all their records are Good.
FROM ranked_candidates AS r;

-- US is disclosed: only Cook and Doctor live there, who are told already.
INSERT INTO disclosed_values
FROM winner AS w;

-- Round 5: France has gained: all that is still Bad under ⊥Country lives there.
FROM ranked_candidates AS r;

-- France is disclosed: Canada and UK are left, where everybody is Good.
INSERT INTO disclosed_values
FROM winner AS w;

-- Round 6: No and Yes tie, as the values of a two-valued attribute always do: the first one wins.
FROM ranked_candidates AS r;

-- No is disclosed.
INSERT INTO disclosed_values
FROM winner AS w;

-- Round 7: Yes is the last value of its attribute. It gains nothing, but it is valid, and
-- beneficial since doctors are Good and Bad; PDA goes on while there is such a candidate.
FROM ranked_candidates AS r;

-- Yes is disclosed.
INSERT INTO disclosed_values
FROM winner AS w;

-- No candidate is valid and beneficial any more, so the run ends (line 7 of PDA): what is left in
-- Sup_Job and Sup_Country stays suppressed.
FROM ranked_candidates AS r;

-- ---------------------------------------------------------------------------------------------
-- 6. The release
-- ---------------------------------------------------------------------------------------------

-- Table 2 of the paper: records that have become alike are collapsed into one row.
SELECT
    s.Job,
    s.Country,
    s.Child,
    s.Bankruptcy,
    concat(
        coalesce(sum(s.n) FILTER (WHERE s.Rating = 'Good'), 0), 'G/',
        coalesce(sum(s.n) FILTER (WHERE s.Rating = 'Bad'), 0), 'B'
    ) AS Rating,
    sum(s.n) AS records
FROM suppressed_customers AS s
GROUP BY ALL
ORDER BY
    min(s.group_number);

-- The inference of Example 1 is gone: {⊥Job, ⊥Country} -> Discharged has confidence 50 %.
SELECT
    l.channel,
    l.ic,
    l.records,
    l.discharged,
    round(100 * l.discharged / l.records, 2) AS confidence_percent
FROM channel_leaves AS l
WHERE l.discharged > 0
ORDER BY l.channel DESC, l.ic ASC;
