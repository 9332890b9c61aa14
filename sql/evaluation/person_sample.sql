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
person_folds AS (
    SELECT
        d.person,
        row_number() OVER (ORDER BY min(d.lot), min(d.number)) % param('folds') AS fold
    FROM drawn AS d
    GROUP BY d.person
),
fold_counts AS (
    SELECT
        d.number,
        p.fold,
        count(*) AS records
    FROM drawn AS d
    JOIN person_folds AS p
        ON d.person = p.person
    GROUP BY d.number, p.fold
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
