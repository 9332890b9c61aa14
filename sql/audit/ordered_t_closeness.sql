-- ordered_t_closeness | in: class_runs, value_ranks | out: ordered_t_closeness | grain: one row per class | params: t_numerator HUGEINT, t_denominator HUGEINT
-- Earth mover's distance with ordered distances, for numbers and dates: the sum over the m values
-- in order of |class up to it - table up to it|, over m - 1; in whole numbers, a run at a time.
-- Source: Li, Li, Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
WITH marks AS (
    SELECT
        v.records_up_to AS mark,
        v.value_rank,
        v.sum_up_to,
        NULL AS class,
        NULL AS rank_before
    FROM value_ranks AS v
    UNION ALL
    SELECT
        r.turning_point AS mark,
        0 AS value_rank,
        0 AS sum_up_to,
        r.class,
        r.rank_before
    FROM class_runs AS r
),
turns AS (
    SELECT
        m.class,
        m.rank_before,
        max(m.value_rank) OVER passed AS turn_rank,
        max(m.sum_up_to) OVER passed AS turn_sum
    FROM marks AS m
    WINDOW passed AS (
        ORDER BY m.mark, m.class NULLS FIRST
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
turned_runs AS (
    SELECT
        r.class,
        r.class_records,
        r.class_values,
        r.class_side,
        r.sum_before,
        r.longest_way,
        2 * greatest(least(t.turn_rank, r.rank_at_end), r.rank_before)
        - r.rank_before - r.rank_at_end AS ranks,
        r.sum_before + r.sum_at_end
        - 2 * greatest(least(t.turn_sum, r.sum_at_end), r.sum_before) AS table_side
    FROM class_runs AS r
    INNER JOIN turns AS t
        ON r.class = t.class AND r.rank_before = t.rank_before
),
distances AS (
    SELECT
        r.class,
        min(r.class_records) AS class_records,
        min(r.class_values) * min(r.sum_before)
        + sum(r.class_side * r.ranks + r.class_values * r.table_side) AS moved,
        min(r.class_values) * min(r.longest_way) AS whole
    FROM turned_runs AS r
    GROUP BY r.class
)
SELECT
    d.class,
    d.class_records,
    coalesce(d.moved / nullif(d.whole, 0), 0) AS reached,
    d.moved * param('t_denominator') > d.whole * param('t_numerator') AS violates
FROM distances AS d;
