-- key_order | in: records | out: key_order | grain: one row | params: -
-- A digest of all keys in their order; equal digests mean the same records in the same order.
SELECT
    sha256(coalesce(string_agg(length(r.key) || ':' || r.key, ',' ORDER BY r.key), '')) AS digest
FROM records AS r;
