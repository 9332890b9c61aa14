-- coded_histogram | in: histogram, class_codes | out: coded_histogram | grain: one row per attribute, class and cell | params: -
-- The counts with the numbers of their classes in the place of the classes.
SELECT
    h.attribute,
    c.class_code,
    h.cell,
    h.records
FROM histogram AS h
JOIN class_codes AS c
    ON h.class IS NOT DISTINCT FROM c.class;
