-- level_groups | in: dictionary | out: level_groups | grain: one row per value | params: labels VARCHAR[]
-- Each value of a column beside the label that one level of a hierarchy gives it.
SELECT
    d.value,
    CAST($labels AS VARCHAR[])[d.code + 1] AS label
FROM dictionary AS d;
