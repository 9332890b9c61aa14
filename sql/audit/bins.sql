-- bins | in: known_labels, values_to_label | out: bins | grain: one row per text of the attribute | params: name VARCHAR
-- The bounds of intervals such as `[0, 10)` and `[10, 20]`, in the type of the values, and what each is shown as; NULL
-- where a text is not an interval of that type. Those such as `90 or more`, `18 or less` and `less than 37` have one.
SELECT
    l.label,
    TRY(cast_to_type(nullif(regexp_extract(l.text, '^\[([^,]+), ', 1), ''), v.value)) AS lower,
    TRY(cast_to_type(nullif(regexp_extract(l.text, ', ([^,]+)[\])]$', 1), ''), v.value)) AS upper,
    ends_with(l.text, ']') OR ends_with(l.text, ' or less') AS closed,
    TRY(cast_to_type(nullif(regexp_extract(l.text, '^([^,]+) or more$', 1), ''), v.value)) AS least,
    TRY(
        cast_to_type(
            nullif(
                regexp_extract(l.text, '^([^,]+) or less$', 1) || regexp_extract(l.text, '^less than ([^,]+)$', 1), ''
            ),
            v.value
        )
    ) AS most
FROM known_labels AS l
LEFT JOIN values_to_label AS v
    ON FALSE
WHERE l.attribute = param('name');
