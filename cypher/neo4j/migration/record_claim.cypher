// Nobody else migrates while this one does: the token is taken unless another one is fresh.
MERGE (m:GraphmillMeta {key: 'migration'})
SET m._lock = true
REMOVE m._lock
WITH m, datetime.realtime() AS now
WHERE m.token IS NULL OR m.token = $token OR m.until <= now
SET m.token = $token, m.until = now + duration({seconds: $seconds})
RETURN m.key AS key
