-- likeness | in: - | out: ppdm_likeness | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_likeness('policies', ['Gender'], 'Amount')
-- How much more frequent a sensitive value is in a class than in the table, at most: (p - q) / q of its shares.
-- Source: Cao, Karras 2012, doi:10.14778/2350229.2350255.
CREATE OR REPLACE MACRO ppdm_likeness(tbl, qi, sensitive, person := NULL) AS TABLE
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(class_records AS BIGINT) AS records,
    list_max(list_transform("values", lambda v:
        CAST(v.records * v.table_records - v.value_records * class_records AS DOUBLE)
        / CAST(v.value_records * class_records AS DOUBLE))) AS beta,
    list_bool_and(list_transform("values", lambda v:
        CAST(v.records * v.table_records - v.value_records * class_records AS DOUBLE)
        / CAST(v.value_records * class_records AS DOUBLE)
        <= -ln(CAST(v.value_records AS DOUBLE) / CAST(v.table_records AS DOUBLE)))) AS enhanced
FROM compared_classes(tbl, qi, 'qi', sensitive, 'sensitive', person);
