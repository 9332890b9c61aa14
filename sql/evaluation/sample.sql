-- sample | in: coded | out: sample | grain: one row per coded row and fold | params: features VARCHAR[], seed BIGINT, most BIGINT, folds INTEGER
-- Records in an order that depends on the seed and on what they hold, not on where they stand: the
-- first are drawn, and dealt out to the folds class by class, so that all folds are alike.
WITH records AS (
    SELECT
        c.number,
        c.label,
        unnest(range(c.records)) AS copy
    FROM coded AS c
),
drawn AS (
    SELECT
        r.number,
        r.label,
        md5(concat_ws('/', param('seed'), r.number, r.copy)) AS lot
    FROM records AS r
    ORDER BY lot, r.number, r.copy
    LIMIT param('most')
),
dealt AS (
    SELECT
        d.number,
        row_number() OVER (ORDER BY d.label, d.lot, d.number) % param('folds') AS fold
    FROM drawn AS d
),
counted AS (
    SELECT
        t.number,
        t.fold,
        count(*) AS records
    FROM dealt AS t
    GROUP BY t.number, t.fold
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
