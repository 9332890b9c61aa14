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
record_folds AS (
    SELECT
        d.number,
        row_number() OVER (ORDER BY d.label, d.lot, d.number) % param('folds') AS fold
    FROM drawn AS d
),
fold_counts AS (
    SELECT
        f.number,
        f.fold,
        count(*) AS records
    FROM record_folds AS f
    GROUP BY f.number, f.fold
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
