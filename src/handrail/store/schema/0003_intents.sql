-- Recovery and undo look for what changed something, newest first.
CREATE INDEX intents_by_time ON rows (at_ns) WHERE kind = 'intent';
