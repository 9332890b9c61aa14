-- text_shape | in: value_counts | out: text_shape | grain: one row | params: -
-- How many texts a column holds, the longest, and whether they are codes, such as zip or ICD codes: of letters,
-- digits and . / - with a digit in each, of one length, or alike in their first three characters and more.
WITH texts AS (
    SELECT
        CAST(v.value AS VARCHAR) AS text,
        min(length(CAST(v.value AS VARCHAR))) OVER () AS shortest
    FROM value_counts AS v
)
SELECT
    count(*) AS texts,
    max(length(t.text)) AS longest,
    bool_and(regexp_full_match(t.text, '[A-Za-z0-9./-]{2,20}') AND regexp_matches(t.text, '[0-9]'))
    AND (
        min(length(t.text)) = max(length(t.text))
        OR (
            min(length(t.text)) > 2
            AND count(
                DISTINCT regexp_replace(
                    regexp_replace(left(t.text, t.shortest), '[0-9]', '9', 'g'), '[A-Za-z]', 'A', 'g'
                )
            ) = 1
        )
    ) AS are_codes
FROM texts AS t;
