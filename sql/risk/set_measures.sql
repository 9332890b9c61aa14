-- set_measures | in: set_classes | out: set_measures | grain: one row | params: -
-- What a set of columns tells apart: classes, all records, the pairs of records that are in one class, and the records
-- that are alone. Distinction and separation follow from these.
-- Source: Motwani, Xu 2007, Efficient algorithms for masking and finding quasi-identifiers.
SELECT
    count(*) AS classes,
    coalesce(sum(c.class_records), 0) AS records,
    coalesce(sum(CAST(c.class_records AS HUGEINT) * (c.class_records - 1) // 2), 0) AS pairs_together,
    count(*) FILTER (WHERE c.class_records = 1) AS alone
FROM set_classes AS c;
