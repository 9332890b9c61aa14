-- refused | in: refined | out: refused | grain: one row per candidate | params: known VARCHAR[], candidate VARCHAR[], child VARCHAR[], target VARCHAR[], suppressed BOOLEAN, measure VARCHAR, protected VARCHAR, limit DOUBLE, requirement INTEGER, attribute INTEGER
-- The classes that a refused refinement would make, and which of them could break a requirement for all that the values
-- of the class show from which they are taken: the values that harm most come first until the class is full. A value
-- that is disclosed leaves a rest. A class of each candidate that could is guessed to hold what is protected, or usual.
WITH cells AS (
    SELECT
        row(*COLUMNS(getvariable('known'))) AS class,
        COLUMNS(getvariable('candidate')) AS candidate,
        COLUMNS(getvariable('child')) AS child,
        COLUMNS(getvariable('target')) AS value,
        CAST(sum(r.weight) AS BIGINT) AS records
    FROM refined AS r
    GROUP BY ALL
    HAVING candidate IS NOT NULL
),
sizes AS (
    SELECT
        c.class,
        c.candidate,
        c.child,
        sum(c.records) AS records
    FROM cells AS c
    GROUP BY c.class, c.candidate, c.child
),
wholes AS (
    SELECT
        c.class,
        c.value,
        sum(c.records) AS records,
        sum(sum(c.records)) OVER (PARTITION BY c.class) AS total,
        CASE
            WHEN $measure = 'protected' THEN c.value IS NOT DISTINCT FROM param('protected')
            ELSE sum(c.records) = max(sum(c.records)) OVER (PARTITION BY c.class)
        END AS guessed
    FROM cells AS c
    GROUP BY c.class, c.value
),
parts AS (
    SELECT
        s.class,
        s.candidate,
        s.child,
        r.is_rest,
        w.value,
        w.guessed,
        w.total,
        w.records AS in_whole,
        if(r.is_rest, w.records - coalesce(c.records, 0), coalesce(c.records, 0)) AS held,
        if(r.is_rest, w.total - s.records, s.records) AS records
    FROM sizes AS s
    INNER JOIN wholes AS w
        ON w.class IS NOT DISTINCT FROM s.class
    CROSS JOIN (SELECT unnest(if($suppressed, [false, true], [false])) AS is_rest) AS r
    LEFT JOIN cells AS c
        ON c.class IS NOT DISTINCT FROM s.class
        AND c.candidate = s.candidate
        AND c.child = s.child
        AND c.value IS NOT DISTINCT FROM w.value
),
filled AS (
    SELECT
        p.*,
        greatest(0, least(p.in_whole, p.records + p.in_whole - sum(p.in_whole) OVER (
            PARTITION BY p.class, p.candidate, p.child, p.is_rest
            ORDER BY p.guessed DESC, p.in_whole DESC, p.value ASC
            ROWS UNBOUNDED PRECEDING
        ))) AS most
    FROM parts AS p
    WHERE p.records > 0
)
SELECT
    CAST($requirement AS INTEGER) AS requirement,
    CAST($attribute AS INTEGER) AS attribute,
    k.candidate,
    count(*) AS ways,
    sum(k.records) AS tried,
    sum(k.successes) AS successes,
    sum(k.usual) AS usual,
    max(k.successes / k.records) AS worst
FROM (
    SELECT
        f.candidate,
        f.records,
        avg(f.held) FILTER (f.guessed) AS successes,
        avg(f.in_whole) FILTER (f.guessed) * f.records / f.total AS usual
    FROM filled AS f
    GROUP BY f.class, f.candidate, f.child, f.is_rest, f.records, f.total
    HAVING coalesce(CASE $measure
        WHEN 'records' THEN f.records < $limit
        WHEN 'distinct' THEN count(*) FILTER (f.most > 0) < $limit
        WHEN 'entropy'
            THEN exp(ln(f.records) - sum(f.most * ln(greatest(f.most, 1))) / f.records) < $limit
        ELSE max(f.most) FILTER (f.guessed) / f.records > $limit
    END, false)
) AS k
GROUP BY k.candidate;
