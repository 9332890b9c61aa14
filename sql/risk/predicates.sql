-- predicates | in: weighted_classes | out: predicates | grain: one row | params: -
-- From the labels of a class of f records and a hash of all else that one record in f meets, an attacker makes a
-- predicate that one record of the source alone meets with (1 - 1/f)^(f-1). Who guesses a predicate of the same weight w
-- without the release isolates one of n records with n w (1 - w)^(n-1). Source: Cohen, Nissim 2020, doi:10.1073/pnas.1914598117.
SELECT
    count(*) AS tried,
    sum(pow(1 - 1 / c.records, c.records - 1)) AS successes,
    max(pow(1 - 1 / c.records, c.records - 1)) AS worst,
    sum(c.table_records * c.weight / c.records * pow(1 - c.weight / c.records, c.table_records - 1)) AS baseline
FROM weighted_classes AS c
WHERE c.records > 0;
