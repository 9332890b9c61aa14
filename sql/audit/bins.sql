-- bins | in: known_labels, values_to_label | out: bins | grain: one row per text of the attribute | params: name VARCHAR
-- The bounds of intervals such as `[0, 10)` and `[10, 20]`, in the type of the values, and what each is shown as; NULL
-- where a text is no interval of that type.
SELECT
    l.label,
    TRY(cast_to_type(nullif(regexp_extract(l.text, '^\[([^,]+), ', 1), ''), v.value)) AS lower,
    TRY(cast_to_type(nullif(regexp_extract(l.text, ', ([^,]+)[\])]$', 1), ''), v.value)) AS upper,
    ends_with(l.text, ']') AS closed
FROM known_labels AS l
LEFT JOIN values_to_label AS v
    ON FALSE
WHERE l.attribute = param('name');
