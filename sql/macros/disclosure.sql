-- disclosure | in: - | out: ppdm_disclosure | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_disclosure('policies', ['Gender'], 'Amount')
-- How much more or less frequent a sensitive value is in a class than in the table, at most, in powers of 2.
-- Source: Brickell, Shmatikov 2008, doi:10.1145/1401890.1401904.
CREATE OR REPLACE MACRO ppdm_disclosure(tbl, qi, sensitive, person := NULL) AS TABLE
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(class_records AS BIGINT) AS records,
    CASE
        WHEN len("values") < table_values THEN CAST('Infinity' AS DOUBLE)
        ELSE list_max(list_transform("values", lambda v: abs(log2(
            CAST(v.records * v.table_records AS DOUBLE) / CAST(v.value_records * class_records AS DOUBLE)
        ))))
    END AS delta
FROM compared_classes(tbl, qi, 'qi', sensitive, 'sensitive', person);
