-- cuts | in: texts | out: cuts | grain: one row per attribute and value | params: names VARCHAR[], labels INTEGER[][], symbol VARCHAR
-- What became of every value of the masking attributes; part 0 is the suppressed symbol.
SELECT
    CAST($names AS VARCHAR[])[t.attribute + 1] AS attribute,
    t.value,
    CASE
        WHEN CAST($labels AS INTEGER[][])[t.attribute + 1][t.code + 1] = 0 THEN $symbol
        ELSE t.value
    END AS generalized
FROM texts AS t;
