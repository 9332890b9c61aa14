-- sample | in: coded | out: sample | grain: one row per coded row and fold | params: features VARCHAR[], seed BIGINT, most BIGINT, folds INTEGER
-- Records in an order that depends on the seed and on what they hold, not on where they stand: the first are drawn, and
-- dealt out to the folds class by class, so that all folds are alike. Persons are dealt out whole: no tree is asked
-- about a person whom it has learned from.
WITH records AS (
    SELECT
        c.number,
        c.person,
        c.label,
        unnest(range(c.records)) AS copy
    FROM coded AS c
),
drawn AS (
    SELECT
        r.number,
        r.person,
        r.label,
        md5(concat_ws('/', param('seed'), r.number, r.copy)) AS lot
    FROM records AS r
    ORDER BY lot, r.number, r.copy
    LIMIT param('most')
),
dealt AS (
    SELECT
        coalesce(d.person, d.lot) AS unit,
        row_number() OVER (
            ORDER BY min(CASE WHEN d.person IS NULL THEN d.label END), min(d.lot), min(d.number)
        ) % param('folds') AS fold
    FROM drawn AS d
    GROUP BY coalesce(d.person, d.lot)
),
fold_counts AS (
    SELECT
        d.number,
        u.fold,
        count(*) AS records
    FROM drawn AS d
    JOIN dealt AS u
        ON coalesce(d.person, d.lot) = u.unit
    GROUP BY d.number, u.fold
)
SELECT
    COLUMNS(getvariable('features')),
    c.label,
    f.fold,
    f.records
FROM fold_counts AS f
JOIN coded AS c
    ON f.number = c.number
ORDER BY f.number, f.fold;
