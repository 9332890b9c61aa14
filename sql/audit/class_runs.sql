-- class_runs | in: cells, value_ranks | out: class_runs | grain: one row per class and rank_before | params: -
-- Between two of its values a class's cumulative count stands still while the table's grows past
-- it, once: at the last rank whose records do not exceed turning_point. So a run costs one row.
SELECT
    c.class,
    c.class_records,
    c.class_values,
    v.value_rank - 1 AS rank_before,
    v.sum_up_to - v.records_up_to AS sum_before,
    coalesce(lead(v.value_rank - 1) OVER up_to, v.last_rank) AS rank_at_end,
    coalesce(lead(v.sum_up_to - v.records_up_to) OVER up_to, v.table_sum) AS sum_at_end,
    sum(c.records) OVER up_to * v.table_records AS class_side,
    sum(c.records) OVER up_to * v.table_records // c.class_values AS turning_point,
    (v.last_rank - 1) * v.table_records AS longest_way
FROM cells AS c
INNER JOIN value_ranks AS v
    ON c.value IS NOT DISTINCT FROM v.value
WINDOW up_to AS (PARTITION BY c.class ORDER BY v.value_rank);
