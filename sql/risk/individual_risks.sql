-- individual_risks | in: weighted_records | out: individual_risks | grain: one row per class and household | params: columns VARCHAR[]
-- The risk of each record: E(1 / F | f) of its class, where f records of it were drawn from F with probability p. By
-- recursion over f where p is small, else by the series of p / f 2F1(1, 1; f + 1; 1 - p), whose terms then fall fast.
-- Source: Benedetti, Franconi 1998.
WITH classes AS (
    SELECT
        w.household,
        w.records,
        CAST(sum(w.records) OVER (PARTITION BY COLUMNS(getvariable('columns'))) AS BIGINT) AS f,
        sum(w.weight) OVER (PARTITION BY COLUMNS(getvariable('columns'))) AS weight
    FROM weighted_records AS w
),
drawn AS (
    SELECT
        c.household,
        c.records,
        c.f,
        c.f / greatest(c.weight, c.f) AS p
    FROM classes AS c
)
SELECT
    d.household,
    d.records,
    CASE
        WHEN d.p = 1 THEN 1 / d.f
        WHEN d.p <= 0.5 AND d.f <= 100 THEN list_reduce(
            range(2, d.f + 1),
            lambda risk, i: d.p / (1 - d.p) * (1 / (i - 1) - risk),
            -d.p / (1 - d.p) * ln(d.p)
        )
        ELSE d.p / d.f * list_reduce(
            range(60, 0, -1),
            lambda rest, i: 1 + (1 - d.p) * i / (d.f + i) * rest,
            CAST(1 AS DOUBLE)
        )
    END AS risk
FROM drawn AS d;
