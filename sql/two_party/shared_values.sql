-- shared_values | in: dictionary | out: shared_values | grain: one row | params: -
-- A digest of the values of a column that both parties hold, in the order of their codes.
SELECT
    sha256(
        string_agg(
            coalesce(length(d.value::VARCHAR) || ':' || d.value::VARCHAR, '-'), chr(59)
            ORDER BY d.code
        )
    ) AS digest
FROM dictionary AS d;
