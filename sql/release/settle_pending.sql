-- settle_pending | in: - | out: ppdm.pending | grain: one row | params: token VARCHAR
-- Notes that what was written has its name: from the commit on it belongs to the release, and only its private folder may go.
UPDATE ppdm.pending
SET purpose = 'settle'
WHERE token = $token;
