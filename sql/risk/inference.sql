-- inference | in: guesses | out: inference | grain: one row | params: -
-- Who knows some columns of a person guesses another one by the most frequent value of the released records that look
-- alike, or of all where none is; of several such values each is guessed equally often. The same guess is tried on those
-- who were split off.
WITH frequencies AS (
    SELECT
        g.value,
        sum(g.sought) AS sought,
        sum(g.shown) AS shown
    FROM guesses AS g
    WHERE NOT g.is_class
    GROUP BY g.value
),
usual AS (
    SELECT
        f.value,
        1 / count(*) OVER () AS part
    FROM frequencies AS f
    WHERE f.shown > 0
        AND f.shown = (SELECT max(m.shown) FROM frequencies AS m)
),
chances AS (
    SELECT
        g.*,
        CASE
            WHEN g.is_class THEN 0
            WHEN g.most > 0 THEN if(g.shown = g.most, 1 / g.ties, 0)
            ELSE coalesce(u.part, 0)
        END AS chance
    FROM guesses AS g
    LEFT JOIN usual AS u
        ON u.value IS NOT DISTINCT FROM g.value
),
classes AS (
    SELECT
        sum(c.sought * c.chance) / max(c.sought) FILTER (c.is_class AND c.sought > 0) AS rate
    FROM chances AS c
    WHERE c.candidates > 0
    GROUP BY c.class
)
SELECT
    CAST(sum(g.sought) FILTER (g.is_class) AS BIGINT) AS tried,
    coalesce(sum(g.sought * g.chance), 0) AS successes,
    (SELECT max(c.rate) FROM classes AS c) AS worst,
    coalesce(sum(g.sought) FILTER (NOT g.is_class AND g.kinds = 1 AND g.shown > 0), 0) AS certain,
    CAST(sum(g.others) FILTER (g.is_class) AS BIGINT) AS others,
    coalesce(sum(g.others * g.chance), 0) AS others_guessed,
    coalesce(sum(g.others) FILTER (NOT g.is_class AND g.kinds = 1 AND g.shown > 0), 0) AS others_certain,
    (SELECT max(f.sought) FROM frequencies AS f) AS most_frequent
FROM chances AS g;
