-- records | in: collapsed | out: records | grain: one row | params: -
-- Records of a collapsed table.
SELECT
    CAST(coalesce(sum(c.records), 0) AS BIGINT) AS records
FROM collapsed AS c;
