-- delete_pending | in: - | out: ppdm.pending | grain: one row | params: token VARCHAR
-- Forgets a folder or table: it is published, or gone.
DELETE FROM ppdm.pending
WHERE token = $token;
