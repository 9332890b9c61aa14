-- minimality | in: refused | out: minimality | grain: one row per requirement | params: -
-- Who knows that a candidate was refused picks evenly one of the classes that could be why. Where the classes are too
-- small, which everybody can see (no requirement is named), nothing is learned. Where one class alone could be why, the
-- attacker is sure of it. Source: Wong, Fu, Wang, Pei 2007, Minimality attack in privacy preserving data publishing.
WITH reasons AS (
    SELECT
        r.*,
        sum(r.ways) OVER (PARTITION BY r.attribute, r.candidate) AS all_ways,
        bool_or(r.requirement IS NULL) OVER (PARTITION BY r.attribute, r.candidate) AS is_seen
    FROM refused AS r
)
SELECT
    s.requirement,
    CAST(sum(s.tried) AS BIGINT) AS tried,
    sum(s.successes / s.ways) AS successes,
    sum(s.tried / s.ways) AS guesses,
    sum(s.usual / s.ways) AS usual,
    max(s.worst) FILTER (s.all_ways = 1) AS worst
FROM reasons AS s
WHERE NOT s.is_seen
GROUP BY s.requirement
ORDER BY s.requirement ASC;
