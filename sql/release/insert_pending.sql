-- insert_pending | in: - | out: ppdm.pending | grain: one row | params: token VARCHAR, kind VARCHAR, target VARCHAR, purpose VARCHAR
-- Records where rows are going to be written or removed, before that begins; the time is in UTC.
INSERT INTO ppdm.pending
SELECT
    $token AS token,
    $kind AS kind,
    $target AS target,
    $purpose AS purpose,
    make_timestamp(epoch_us(now())) AS made_at;
