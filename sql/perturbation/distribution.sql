-- distribution | in: - | out: distribution | grain: one row per attribute, class and cell | params: position BIGINT[], attribute VARCHAR[], class_code BIGINT[], lower DOUBLE[], upper DOUBLE[], value VARCHAR[], probability DOUBLE[], records DOUBLE[]
-- The reconstructed distributions: the estimated share, and number, of records in each interval or category.
SELECT
    unnest($position::BIGINT[]) AS position,
    unnest($attribute::VARCHAR[]) AS attribute,
    unnest($class_code::BIGINT[]) AS class_code,
    unnest($lower::DOUBLE[]) AS lower,
    unnest($upper::DOUBLE[]) AS upper,
    unnest($value::VARCHAR[]) AS value,
    unnest($probability::DOUBLE[]) AS probability,
    unnest($records::DOUBLE[]) AS records;
