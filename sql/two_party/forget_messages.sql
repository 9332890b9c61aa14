-- forget_messages | in: - | out: messages | grain: one row per message of a run | params: release
-- Removes the messages of a run.
DELETE FROM messages AS m
WHERE m.release = $release;
