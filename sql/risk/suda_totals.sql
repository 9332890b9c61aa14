-- suda_totals | in: scores | out: suda_totals | grain: one row per smallest | params: -
-- The records by the size of their smallest minimal sample unique, with their DIS-SUDA.
SELECT
    s.smallest,
    count(*) AS records,
    max(s.dis_suda) AS highest,
    sum(s.dis_suda) AS total
FROM scores AS s
GROUP BY s.smallest;
