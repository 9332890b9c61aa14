-- equivalence_classes | in: - | out: ppdm_equivalence_classes | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_equivalence_classes('policies', ['Age', 'Gender'])
-- The equivalence classes of a quasi-identifier, each with its number of records.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648.
CREATE OR REPLACE MACRO ppdm_equivalence_classes(tbl, qi, person := NULL) AS TABLE
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    records
FROM counted_classes(tbl, qi, 'qi', person);
