-- dis_suda | in: suda_scores | out: dis_suda | grain: one row per atom | params: uniques BIGINT, disclosive DOUBLE, exponent DOUBLE
-- SUDA scores beside the same as a probability: that a match with a unique record is right, disclosive, is dealt out by
-- the scores; NULL where it is not defined. Source: Elliot, Manning, Mayes, Gurd, Bane 2005, SUDA: a program for
-- detecting special uniques; the exponent and the factor as sdcMicro has them.
SELECT
    s.*,
    1 / (
        1 + (param('uniques') / param('disclosive') - param('uniques'))
        / (power(s.score, param('exponent')) * sum(1 / power(s.score, param('exponent'))) OVER ())
    ) AS dis_suda
FROM suda_scores AS s;
