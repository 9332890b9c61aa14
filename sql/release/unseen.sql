-- unseen | in: mapped_values | out: unseen | grain: one row | params: -
-- Records whose value the release does not know, and whether any value, and any that a leaf matches, is there.
SELECT
    CAST(coalesce(sum(m.records) FILTER (WHERE NOT m.seen), 0) AS BIGINT) AS unseen,
    count(m.value) > 0 AS any_value,
    count(m.value) FILTER (WHERE m.matched) > 0 AS any_matched
FROM mapped_values AS m;
