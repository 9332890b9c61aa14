-- bins | in: values_to_bin | out: bins | grain: one row per bin | params: labels
-- The bounds that labels such as `[0, 10)` and `[10, 20]` name, in the type of the values.
SELECT
    l.label,
    cast_to_type(regexp_extract(l.label, '^\[([^,]+), ', 1), v.value) AS lower,
    cast_to_type(regexp_extract(l.label, ', ([^,]+)[\])]$', 1), v.value) AS upper,
    ends_with(l.label, ']') AS closed
FROM (
    SELECT
        unnest(CAST($labels AS VARCHAR[])) AS label
) AS l
CROSS JOIN (
    SELECT
        any_value(b.value) AS value
    FROM values_to_bin AS b
) AS v;
