-- closeness | in: - | out: ppdm_closeness | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_closeness('policies', ['Gender'], 'Amount')
-- Distance in [0, 1] of a class's sensitive values from the table's: t is the ordered one for numbers, dates and times.
-- Source: Li, Li, Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
CREATE OR REPLACE MACRO ppdm_closeness(tbl, qi, sensitive, person := NULL) AS TABLE
WITH cells AS MATERIALIZED (
    SELECT *
    FROM counted_cells(tbl, qi, 'qi', sensitive, 'sensitive', person)
),
ranks AS MATERIALIZED (
    SELECT
        t.value,
        t.value_records,
        t.value_rank,
        t.records_up_to,
        CAST(sum(t.records_up_to) OVER (ORDER BY t.value_rank ASC ROWS UNBOUNDED PRECEDING) AS HUGEINT) AS sum_up_to
    FROM (
        SELECT
            c.value,
            CAST(sum(c.first_of_value) AS BIGINT) AS value_records,
            row_number() OVER by_value AS value_rank,
            CAST(sum(sum(c.first_of_value)) OVER by_value AS BIGINT) AS records_up_to
        FROM cells AS c
        GROUP BY c.value
        WINDOW by_value AS (ORDER BY c.value ASC NULLS LAST ROWS UNBOUNDED PRECEDING)
    ) AS t
),
classes AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN class_records = 1 THEN -"values"[1].value_rank ELSE row_number() OVER () END AS class
    FROM (
        SELECT
            COLUMNS('(?s)^q_.*'),
            CAST(sum(c.first_of_class) AS BIGINT) AS told_records,
            CAST(sum(c.records) AS BIGINT) AS class_records,
            CAST(sum(r.value_records) AS BIGINT) AS covered_records,
            list({'records': c.records, 'value_records': r.value_records, 'value_rank': r.value_rank}) AS "values"
        FROM cells AS c
        INNER JOIN ranks AS r
            ON c.value IS NOT DISTINCT FROM r.value
        GROUP BY ALL
    )
),
ordered_distances AS (
    SELECT
        t.class,
        sum(t.class_side * (2 * t.turn - t.rank_before - t.rank_at_end))
        + any_value(t.class_records)
        * (any_value(t.table_sum) + 2 * sum(coalesce(b.sum_up_to, 0) - coalesce(a.sum_up_to, 0))) AS moved,
        any_value(t.class_records) * any_value(t.longest_way) AS whole
    FROM (
        SELECT
            s.*,
            greatest(least(coalesce(r.value_rank, 0), s.rank_at_end), s.rank_before) AS turn
        FROM (
            SELECT
                v.class,
                v.class_records,
                w.table_sum,
                w.table_records * (w.last_rank - 1) AS longest_way,
                v.value_rank - 1 AS rank_before,
                coalesce(lead(v.value_rank - 1) OVER by_rank, w.last_rank) AS rank_at_end,
                sum(v.records) OVER by_rank * w.table_records AS class_side
            FROM (
                SELECT
                    class,
                    class_records,
                    unnest("values", max_depth := 2)
                FROM classes
                WHERE class > 0
                UNION ALL
                SELECT
                    -value_rank, -- all classes of one record with this value, which are equally far off
                    1,
                    1,
                    value_records,
                    value_rank
                FROM ranks
            ) AS v
            CROSS JOIN (
                SELECT
                    max(value_rank) AS last_rank,
                    CAST(max(records_up_to) AS HUGEINT) AS table_records,
                    max(sum_up_to) AS table_sum
                FROM ranks
                WHERE regexp_matches(typeof(value), '^U?(TINY|SMALL|BIG|HUGE)?INT|^(FLOAT|DOUBLE|DECIMAL|DATE|TIME)')
                    AND NOT ends_with(typeof(value), ']')
                HAVING count(*) > 0
            ) AS w
            WINDOW by_rank AS (PARTITION BY v.class ORDER BY v.value_rank ASC)
        ) AS s
        ASOF LEFT JOIN ranks AS r
            ON CAST(s.class_side // s.class_records AS BIGINT) >= r.records_up_to
    ) AS t
    LEFT JOIN ranks AS b
        ON b.value_rank = t.rank_before
    LEFT JOIN ranks AS a
        ON a.value_rank = t.turn
    GROUP BY t.class
)
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    d.told_records AS records,
    coalesce(d.ordered_distance, d.equal_distance) AS t,
    d.equal_distance,
    d.ordered_distance
FROM (
    SELECT
        COLUMNS('(?s)^q_.*'),
        c.told_records,
        CAST(
            list_sum(list_transform(c."values", lambda v:
                abs(v.records * w.table_records - v.value_records * c.class_records)))
            + c.class_records * (w.table_records - c.covered_records) AS DOUBLE
        ) / CAST(2 * c.class_records * w.table_records AS DOUBLE) AS equal_distance,
        CASE
            WHEN o.class IS NOT NULL
                THEN coalesce(CAST(o.moved AS DOUBLE) / nullif(CAST(o.whole AS DOUBLE), 0), 0)
        END AS ordered_distance
    FROM classes AS c
    CROSS JOIN (
        SELECT CAST(max(records_up_to) AS HUGEINT) AS table_records
        FROM ranks
    ) AS w
    LEFT JOIN ordered_distances AS o
        ON o.class = c.class
) AS d;
