-- person_sample | in: coded | out: person_sample | grain: one row per coded row and fold | params: features VARCHAR[], seed BIGINT, most BIGINT, folds INTEGER
-- As sample, but persons are dealt out to the folds, each with all records drawn: no tree is asked about a person
-- whom it has learned from. The order depends on the seed and on what the records hold.
WITH records AS (
    SELECT
        c.number,
        c.person,
        unnest(range(c.records)) AS copy
    FROM coded AS c
),
drawn AS (
    SELECT
        r.number,
        r.person,
        md5(concat_ws('/', param('seed'), r.number, r.copy)) AS lot
    FROM records AS r
    ORDER BY lot, r.number, r.copy
    LIMIT param('most')
),
dealt AS (
    SELECT
        d.person,
        row_number() OVER (ORDER BY min(d.lot), min(d.number)) % param('folds') AS fold
    FROM drawn AS d
    GROUP BY d.person
),
counted AS (
    SELECT
        d.number,
        t.fold,
        count(*) AS records
    FROM drawn AS d
    INNER JOIN dealt AS t
        ON d.person = t.person
    GROUP BY d.number, t.fold
)
SELECT
    COLUMNS(getvariable('features')),
    c.label,
    n.fold,
    n.records
FROM counted AS n
INNER JOIN coded AS c
    ON n.number = c.number
ORDER BY n.number, n.fold;
