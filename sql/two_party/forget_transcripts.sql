-- forget_transcripts | in: - | out: ppdm.transcripts | grain: one row per message of a run | params: release
DELETE FROM ppdm.transcripts AS t
WHERE t.release = $release;
