-- forget_unfinished | in: - | out: ppdm.unfinished | grain: one row per message of a run | params: release
-- Removes the messages of the run that broke off.
DELETE FROM ppdm.unfinished AS u
WHERE u.release = $release;
