-- Reconstructing a distribution from randomized values, in plain SQL.
-- Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, sections 2 and 3.
--
-- Run it from top to bottom: duckdb < reconstruction.sql, or .read reconstruction.sql at the
-- prompt of any database. Everything it makes is temporary and gone when the shell is closed;
-- until then, query it. "ppdm reconstruct --kernel midpoint" makes the same iterations; where the
-- paper is silent or misprints, the text says so.

-- ---------------------------------------------------------------------------------------------
-- 1. Privacy: how wide is the interval in which a value may lie?
-- ---------------------------------------------------------------------------------------------

-- Table 1: the width of the interval that holds the value with confidence c, for intervals of
-- width W (discretization), noise spread evenly over 2 alpha (uniform), and normal noise of
-- standard deviation sigma (gaussian). The normal density is summed in steps of 0.001 sigma, out
-- from 0 to both sides, until c is reached. (The paper prints 1.34, 3.92 and 6.8 sigma. The first
-- is cut off, not rounded; the last has lost a digit: 6.8 sigma hold 99.93 %, 6.58 sigma hold 99.9
-- %.)
CREATE OR REPLACE TEMP TABLE privacy_widths AS
WITH gaussian_steps AS (
    SELECT
        r.step * 0.001 AS width_in_sigma,
        sum(exp(-pow((r.step - 0.5) * 0.0005, 2) / 2) / sqrt(2 * pi()) * 0.001)
            OVER (ORDER BY r.step) AS confidence
    FROM range(1, 8001) AS r (step)
),
confidences AS (
    SELECT
        unnest([0.5, 0.95, 0.999]) AS confidence
)
SELECT
    c.confidence,
    c.confidence AS discretization_in_w,
    c.confidence AS uniform_in_2_alpha,
    min(g.width_in_sigma) AS gaussian_in_sigma
FROM confidences AS c
JOIN gaussian_steps AS g
    ON g.confidence >= c.confidence
GROUP BY c.confidence;

-- Print Table 1.
SELECT
    w.confidence,
    w.discretization_in_w,
    w.uniform_in_2_alpha,
    round(w.gaussian_in_sigma, 2) AS gaussian_in_sigma
FROM privacy_widths AS w
ORDER BY w.confidence;

-- Section 3 adds normal noise with sigma = 0.25: where does a value of 0.25 go? With 95 % chance
-- between -0.24 and 0.74 (the text at hand has 0.26 for the former), with 99.9 % between -0.57 and
-- 1.07, which the paper rounds to -0.6 and 1.1.
SELECT
    w.confidence,
    round(0.25 - 0.25 * w.gaussian_in_sigma / 2, 2) AS lower,
    round(0.25 + 0.25 * w.gaussian_in_sigma / 2, 2) AS upper
FROM privacy_widths AS w
WHERE w.confidence > 0.5
ORDER BY w.confidence;

-- ---------------------------------------------------------------------------------------------
-- 2. The example of Figure 2: a plateau, randomized in two ways
-- ---------------------------------------------------------------------------------------------

-- The original values of 10,000 persons on [0, 1]. Figure 2 is a picture: the plateau is taken to
-- rise up to 0.25, to be level up to 0.75 and to fall from there; the number of persons fits the
-- figure's axis. Each person is at a quantile of that distribution, so nothing is left to chance.
CREATE OR REPLACE TEMP TABLE originals AS
WITH quantiles AS (
    SELECT
        r.person,
        (r.person - 0.5) / 10000 AS quantile
    FROM range(1, 10001) AS r (person)
)
SELECT
    q.person,
    CASE
        WHEN q.quantile < 1.0 / 6 THEN sqrt(q.quantile * 3 / 8)
        WHEN q.quantile <= 5.0 / 6 THEN 0.25 + (q.quantile - 1.0 / 6) * 3 / 4
        ELSE 1 - sqrt((1 - q.quantile) * 3 / 8)
    END AS x
FROM quantiles AS q;

-- Two numbers between 0 and 1 for each person, which look random: the digits of a hash. Everybody
-- who runs this sees the same figures. (So could anybody take this noise away again: real noise is
-- drawn from a secure generator, as "ppdm randomize" does.)
CREATE OR REPLACE TEMP TABLE draws AS
WITH hashes AS (
    SELECT
        o.person,
        md5(concat('noise of person ', o.person)) AS digits
    FROM originals AS o
)
SELECT
    h.person,
    (CAST(concat('0x', substr(h.digits, 1, 12)) AS BIGINT) + 0.5) / pow(2, 48) AS first_draw,
    (CAST(concat('0x', substr(h.digits, 13, 12)) AS BIGINT) + 0.5) / pow(2, 48) AS second_draw
FROM hashes AS h;

-- Value distortion: each person reports w = x + y. Figure 2a adds gaussian noise y with sigma =
-- 0.25 (two draws make one normal number), Figure 2c uniform noise between -0.5 and 0.5.
CREATE OR REPLACE TEMP TABLE randomized AS
SELECT
    'gaussian' AS noise,
    o.person,
    o.x + 0.25 * sqrt(-2 * ln(d.first_draw)) * cos(2 * pi() * d.second_draw) AS w
FROM originals AS o
JOIN draws AS d USING (person)
UNION ALL
SELECT
    'uniform' AS noise,
    o.person,
    o.x + d.first_draw - 0.5 AS w
FROM originals AS o
JOIN draws AS d USING (person);

-- ---------------------------------------------------------------------------------------------
-- 3. Partitioning into intervals
-- ---------------------------------------------------------------------------------------------

-- The domain in 20 intervals of width 0.05, as in Figure 2; p is the number of an interval, and its
-- midpoint is m(I_p) = (p - 0.5) * 0.05. The first estimate, iteration 0, is uniform.
CREATE OR REPLACE TEMP TABLE first_estimates AS
SELECT
    n.noise,
    r.p,
    CAST(1.0 / 20 AS DOUBLE) AS probability
FROM range(1, 21) AS r (p)
CROSS JOIN (VALUES
    ('gaussian'),
    ('uniform')
) AS n (noise);

-- N(I_s): the randomized values counted in the same intervals, which go on below 0 and above 1.
-- This is all that the reconstruction sees of the persons.
CREATE OR REPLACE TEMP TABLE randomized_counts AS
SELECT
    w.noise,
    CAST(floor(w.w / 0.05) AS BIGINT) + 1 AS s,
    count(*) AS records
FROM randomized AS w
GROUP BY ALL;

-- f_Y(m(I_s) - m(I_p)): the density of the noise at the distance of two midpoints. Uniform noise
-- has density 1 up to 0.5, which is 10 intervals; on the edge, where it jumps, half of it.
CREATE OR REPLACE TEMP TABLE noise_densities AS
SELECT
    c.noise,
    c.s,
    e.p,
    CASE
        WHEN c.noise = 'gaussian'
            THEN exp(-pow((c.s - e.p) * 0.05 / 0.25, 2) / 2) / (0.25 * sqrt(2 * pi()))
        WHEN abs(c.s - e.p) < 10 THEN 1.0
        WHEN abs(c.s - e.p) = 10 THEN 0.5
        ELSE 0.0
    END AS density
FROM randomized_counts AS c
JOIN first_estimates AS e USING (noise);

-- ---------------------------------------------------------------------------------------------
-- 4. The iteration
-- ---------------------------------------------------------------------------------------------

-- Equation (3), by Bayes' rule: the new probability of I_p is the mean, over all randomized values,
-- of the posterior probability that the value behind it lies in I_p. Beside it stands how much the
-- iteration changed the estimate: the chi-square of two successive ones, for n records. The paper
-- stops when that is below 1 % of the threshold of the chi-square test, which is 30.1435 for 20
-- intervals (19 degrees of freedom) at 95 %; so does this recursive query, for each noise.
CREATE OR REPLACE TEMP TABLE iterations AS
WITH RECURSIVE steps (noise, iteration, p, probability, chi_square) AS (
    SELECT
        e.noise,
        CAST(0 AS BIGINT) AS iteration,
        e.p,
        e.probability,
        CAST('infinity' AS DOUBLE) AS chi_square
    FROM first_estimates AS e
    UNION ALL
    (
        WITH posteriors AS (
            SELECT
                e.noise,
                e.iteration,
                e.p,
                e.probability AS old_probability,
                c.records,
                d.density * e.probability
                    / sum(d.density * e.probability) OVER (PARTITION BY d.noise, d.s) AS posterior
            FROM steps AS e
            JOIN noise_densities AS d USING (noise, p)
            JOIN randomized_counts AS c USING (noise, s)
            WHERE e.chi_square >= 0.01 * 30.1435
        ),
        new_estimates AS (
            SELECT
                b.noise,
                b.iteration,
                b.p,
                b.old_probability,
                sum(b.records) AS records,
                sum(b.records * b.posterior) / sum(b.records) AS probability
            FROM posteriors AS b
            GROUP BY ALL
        )
        SELECT
            n.noise,
            n.iteration + 1 AS iteration,
            n.p,
            n.probability,
            sum(n.records * pow(n.probability - n.old_probability, 2) / n.old_probability)
                OVER (PARTITION BY n.noise) AS chi_square
        FROM new_estimates AS n
    )
)
FROM steps AS s;

-- The change of the first iteration is large, that of the second is smaller.
SELECT DISTINCT
    i.noise,
    i.iteration,
    round(i.chi_square, 4) AS chi_square
FROM iterations AS i
WHERE i.iteration IN (1, 2)
ORDER BY i.noise ASC, i.iteration ASC;

-- How many iterations it took, and the change of the last one, below 0.3014.
SELECT
    i.noise,
    max(i.iteration) AS iterations,
    round(arg_max(i.chi_square, i.iteration), 4) AS last_chi_square
FROM iterations AS i
GROUP BY ALL
ORDER BY i.noise;

-- ---------------------------------------------------------------------------------------------
-- 5. Figure 2: original, randomized, reconstructed
-- ---------------------------------------------------------------------------------------------

-- The reconstructed distribution, the estimate of the last iteration.
CREATE OR REPLACE TEMP TABLE reconstructed AS
SELECT
    i.noise,
    i.p,
    i.probability
FROM iterations AS i
WHERE i.iteration = (SELECT max(l.iteration) FROM iterations AS l WHERE l.noise = i.noise);

-- The numbers of records of the three curves in each interval, with 0 where there are none.
CREATE OR REPLACE TEMP TABLE curves AS
WITH original_counts AS (
    SELECT
        CAST(floor(o.x / 0.05) AS BIGINT) + 1 AS p,
        count(*) AS records
    FROM originals AS o
    GROUP BY ALL
)
SELECT
    c.noise,
    c.s AS p,
    round((c.s - 1) * 0.05, 2) AS lower,
    coalesce(o.records, 0) AS original,
    c.records AS randomized,
    10000 * coalesce(r.probability, 0) AS reconstructed
FROM randomized_counts AS c
LEFT JOIN original_counts AS o
    ON o.p = c.s
LEFT JOIN reconstructed AS r
    ON r.noise = c.noise
    AND r.p = c.s;

-- Figures 2a and 2c: the randomized curves look nothing like the original, the reconstructed ones
-- do. All are cut off at -0.25 and 1.25.
SELECT
    c.noise,
    c.lower,
    c.original,
    c.randomized,
    round(c.reconstructed, 1) AS reconstructed,
    bar(c.randomized, 0, 1000, 20) AS randomized_curve,
    bar(c.reconstructed, 0, 1000, 20) AS reconstructed_curve
FROM curves AS c
WHERE c.p BETWEEN -4 AND 25
ORDER BY c.noise ASC, c.lower ASC;

-- How far both are from the original, as total variation: half of the sum of the differences of the
-- shares, 0 for the same and 1 for distributions that have nothing in common.
SELECT
    c.noise,
    round(sum(abs(c.randomized - c.original)) / 20000, 3) AS randomized_to_original,
    round(sum(abs(c.reconstructed - c.original)) / 20000, 3) AS reconstructed_to_original
FROM curves AS c
GROUP BY ALL
ORDER BY c.noise;
