-- possible_values | in: composed_values | out: possible_values | grain: one row | params: -
-- Who has several releases and knows a person's class in each guesses evenly among the values that all these classes
-- hold; who has the first release alone, among those of its class. Source: Ganta et al. 2008, doi:10.1145/1401890.1401926.
WITH held AS (
    SELECT DISTINCT
        c.release,
        c.class,
        c.value
    FROM composed_values AS c
),
classes AS (
    SELECT
        c.whole,
        c.release,
        c.class,
        sum(c.weight) AS records
    FROM composed_values AS c
    GROUP BY c.whole, c.release, c.class
),
possible AS (
    SELECT
        k.whole,
        h.value,
        count(*) AS releases,
        count(*) FILTER (k.release = 0) AS in_first,
        max(k.records) AS records
    FROM classes AS k
    INNER JOIN held AS h
        ON k.release = h.release AND k.class = h.class
    GROUP BY k.whole, h.value
),
guesses AS (
    SELECT
        max(p.records) AS records,
        count(*) FILTER (p.releases = r.releases) AS kinds,
        count(*) FILTER (p.in_first = 1) AS kinds_alone
    FROM possible AS p
    CROSS JOIN (SELECT count(DISTINCT c.release) AS releases FROM composed_values AS c) AS r
    GROUP BY p.whole
)
SELECT
    CAST(coalesce(sum(g.records), 0) AS BIGINT) AS tried,
    sum(g.records / g.kinds) AS successes,
    max(1 / g.kinds) AS worst,
    sum(g.records / g.kinds_alone) AS alone
FROM guesses AS g;
