-- pending | in: ppdm.pending | out: pending | grain: one row per folder or table that a run may have left behind | params: -
-- What is not finished, and for how many seconds.
SELECT
    p.token,
    p.kind,
    p.target,
    p.purpose,
    epoch(make_timestamp(epoch_us(now())) - p.made_at) AS seconds
FROM ppdm.pending AS p
ORDER BY p.made_at ASC, p.token ASC;
