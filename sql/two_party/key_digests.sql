-- key_digests | in: records | out: key_digests | grain: one row per record | params: -
-- A digest of each key, 16 bytes, in an order that tells nothing of the keys'.
SELECT
    unhex(left(sha256(r.key), 32)) AS digest
FROM records AS r
ORDER BY
    digest;
