-- guesses | in: sides | out: guesses | grain: one row per class and value, and one per class | params: known VARCHAR[], target VARCHAR[]
-- The records sought, shown and split off of each class of known columns and value of the guessed one; how many values
-- are the most frequent of the released records of the class. Classes become numbers, as no table holds unnamed rows.
WITH counts AS (
    SELECT
        row(*COLUMNS(getvariable('known'))) AS class,
        COLUMNS(getvariable('target')) AS value,
        grouping(value) = 1 AS is_class,
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
)
SELECT
    g.* REPLACE (dense_rank() OVER (ORDER BY g.class) AS class),
    count(*) FILTER (NOT g.is_class AND g.shown = g.most) OVER (PARTITION BY g.class) AS ties
FROM guessed AS g;
