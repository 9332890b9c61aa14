-- forget_transcripts | in: - | out: ppdm.transcripts | grain: one row per message of a run | params: release
-- Removes the messages of the run.
DELETE FROM ppdm.transcripts AS t
WHERE t.release = $release;
