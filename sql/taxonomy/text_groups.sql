-- text_groups | in: value_counts | out: text_groups | grain: one row per value, in order | params: groups
-- Texts that fill a group of their own stand apart, without a group; the others, in their order, share the groups
-- that are left, with about equal numbers of records in each.
WITH sized_texts AS (
    SELECT
        CAST(v.value AS VARCHAR) AS text,
        v.records,
        v.records * param('groups') >= sum(v.records) OVER () AS is_frequent
    FROM value_counts AS v
),
running_texts AS (
    SELECT
        z.text,
        z.records,
        z.is_frequent,
        sum(z.records) OVER (PARTITION BY z.is_frequent ORDER BY z.text) - z.records AS records_before,
        sum(z.records) OVER (PARTITION BY z.is_frequent) AS records_together,
        greatest(param('groups') - count(*) FILTER (WHERE z.is_frequent) OVER (), 1) AS groups_left
    FROM sized_texts AS z
)
SELECT
    r.text,
    CASE
        WHEN NOT r.is_frequent THEN r.records_before * r.groups_left // r.records_together
    END AS part
FROM running_texts AS r
ORDER BY
    r.is_frequent DESC,
    CASE WHEN r.is_frequent THEN r.records END DESC,
    r.text;
