-- inference | in: sides | out: inference | grain: one row | params: known VARCHAR[], target VARCHAR[]
-- Who knows some columns of a person guesses another one by the most frequent value of the released records that look
-- alike; of several such values each is guessed equally often. The same guess is tried on those who were split off.
WITH counts AS (
    SELECT
        row(*COLUMNS(getvariable('known'))) AS class,
        COLUMNS(getvariable('target')) AS value,
        grouping(COLUMNS(getvariable('target'))) = 1 AS is_class,
        count(DISTINCT s.person) FILTER (s.side = 'source')
        + coalesce(sum(s.weight) FILTER (s.side = 'source' AND s.person IS NULL), 0) AS sought,
        count(DISTINCT s.person) FILTER (s.side = 'release')
        + coalesce(sum(s.weight) FILTER (s.side = 'release' AND s.person IS NULL), 0) AS shown,
        count(DISTINCT s.person) FILTER (s.side = 'control')
        + coalesce(sum(s.weight) FILTER (s.side = 'control' AND s.person IS NULL), 0) AS others
    FROM sides AS s
    GROUP BY GROUPING SETS ((class, value), (class))
),
guessed AS (
    SELECT
        c.*,
        max(c.shown) FILTER (NOT c.is_class) OVER (PARTITION BY c.class) AS most,
        max(c.shown) FILTER (c.is_class) OVER (PARTITION BY c.class) AS candidates,
        count(*) FILTER (NOT c.is_class AND c.shown > 0) OVER (PARTITION BY c.class) AS kinds
    FROM counts AS c
),
guesses AS (
    SELECT
        g.*,
        count(*) FILTER (NOT g.is_class AND g.shown = g.most) OVER (PARTITION BY g.class) AS ties
    FROM guessed AS g
),
frequencies AS (
    SELECT
        sum(g.sought) AS sought
    FROM guesses AS g
    WHERE NOT g.is_class
    GROUP BY g.value
)
SELECT
    CAST(sum(g.sought) FILTER (g.is_class) AS BIGINT) AS tried,
    coalesce(sum(g.sought / g.ties) FILTER (NOT g.is_class AND g.shown = g.most AND g.most > 0), 0) AS successes,
    max(g.most / g.candidates) FILTER (g.candidates > 0) AS worst,
    coalesce(sum(g.sought) FILTER (NOT g.is_class AND g.kinds = 1 AND g.shown > 0), 0) AS certain,
    CAST(sum(g.others) FILTER (g.is_class) AS BIGINT) AS others,
    coalesce(sum(g.others / g.ties) FILTER (NOT g.is_class AND g.shown = g.most AND g.most > 0), 0) AS others_guessed,
    (SELECT max(f.sought) FROM frequencies AS f) AS most_frequent
FROM guesses AS g;
