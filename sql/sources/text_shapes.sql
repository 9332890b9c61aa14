-- text_shapes | in: column_values | out: text_shapes | grain: one row | params: fewest INTEGER, most INTEGER
-- How many records of a column of texts hold numbers, and dates by the order of day, month and year; how many texts
-- are neither. Up to `most` of those are given, if at least `fewest` records hold them: they are nobody's.
WITH parted AS (
    SELECT
        v.value,
        v.records,
        regexp_full_match(v.value, '[+-]?([0-9]+|[0-9]*[.][0-9]+)([eE][+-]?[0-9]+)?') AS is_number,
        CASE
            WHEN regexp_full_match(v.value, '[0-9]+-[0-9]+-[0-9]+([ T].*)?') THEN '-'
            WHEN regexp_full_match(v.value, '[0-9]+/[0-9]+/[0-9]+([ T].*)?') THEN '/'
            WHEN regexp_full_match(v.value, '[0-9]+[.][0-9]+[.][0-9]+([ T].*)?') THEN '.'
        END AS mark,
        CASE
            WHEN regexp_full_match(v.value, '[^ T]*') THEN ''
            WHEN regexp_full_match(v.value, '[^ T]*[ T]([01]?[0-9]|2[0-3]):[0-5][0-9]')
                THEN regexp_extract(v.value, '[ T]') || '%H:%M'
            WHEN regexp_full_match(v.value, '[^ T]*[ T]([01]?[0-9]|2[0-3])(:[0-5][0-9]){2}')
                THEN regexp_extract(v.value, '[ T]') || '%H:%M:%S'
        END AS clock
    FROM column_values AS v
    WHERE v.value IS NOT NULL
),
split AS (
    SELECT
        p.*,
        string_split(regexp_replace(p.value, '[ T].*', ''), p.mark) AS part,
        regexp_extract(p.value, '[-/.]([0-9]{2}|[0-9]{4})([ T].*)?$', 1) AS last
    FROM parted AS p
),
dated AS (
    SELECT
        p.*,
        length(p.part[1]) <= 2
            AND TRY_CAST(concat(if(length(p.last) = 2, '20', ''), p.last, '-', p.part[2], '-', p.part[1]) AS DATE) IS NOT NULL AS day_first,
        length(p.part[1]) <= 2
            AND TRY_CAST(concat(if(length(p.last) = 2, '20', ''), p.last, '-', p.part[1], '-', p.part[2]) AS DATE) IS NOT NULL AS month_first,
        length(p.part[1]) = 4
            AND TRY_CAST(concat_ws('-', p.part[1], p.part[2], p.part[3]) AS DATE) IS NOT NULL AS year_first
    FROM split AS p
),
shaped AS (
    SELECT
        d.*,
        d.clock IS NOT NULL AND coalesce(d.day_first OR d.month_first OR d.year_first, false) AS is_date
    FROM dated AS d
)
SELECT
    CAST(coalesce(sum(s.records) FILTER (s.is_number), 0) AS BIGINT) AS numbers,
    CAST(coalesce(sum(s.records) FILTER (s.is_date), 0) AS BIGINT) AS dates,
    coalesce(bool_and(s.day_first) FILTER (s.is_date), false) AS day_first,
    coalesce(bool_and(s.month_first) FILTER (s.is_date), false) AS month_first,
    coalesce(bool_and(s.year_first) FILTER (s.is_date), false) AS year_first,
    CASE
        WHEN min(s.mark) FILTER (s.is_date) = max(s.mark) FILTER (s.is_date) THEN min(s.mark) FILTER (s.is_date)
    END AS mark,
    CASE
        WHEN min(s.clock) FILTER (s.is_date) = max(s.clock) FILTER (s.is_date) THEN min(s.clock) FILTER (s.is_date)
    END AS clock,
    coalesce(max(length(s.part[3])) FILTER (s.is_date AND NOT s.year_first), 4) AS year_digits,
    coalesce(min(length(s.part[3])) FILTER (s.is_date AND NOT s.year_first), 4) AS fewest_digits,
    count(*) FILTER (NOT s.is_number AND NOT s.is_date) AS other_values,
    CAST(coalesce(sum(s.records) FILTER (NOT s.is_number AND NOT s.is_date), 0) AS BIGINT) AS other_records,
    coalesce(bool_or(regexp_matches(s.value, '[0-9]')) FILTER (NOT s.is_number AND NOT s.is_date), false) AS other_digits,
    list_slice(
        list(s.value ORDER BY s.value ASC)
            FILTER (NOT s.is_number AND NOT s.is_date AND s.records >= param('fewest')),
        1,
        param('most')
    ) AS shared
FROM shaped AS s;
