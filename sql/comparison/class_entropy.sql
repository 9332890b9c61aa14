-- class_entropy | in: cells | out: class_entropy | grain: one row | params: -
-- Bits that a record's class attribute still holds for who knows its equivalence class; a class is a group here.
-- Source: Quinlan 1993, "C4.5", for the entropy.
SELECT
    sum(c.records * log2(c.class_records / c.records)) / sum(c.records) AS bits
FROM cells AS c;
