// Under this token already, it was taken by the same call, whose answer got lost.
WITH datetime.realtime() AS now
MATCH (h:GraphmillHold {key: $key})
WHERE h.token IS NULL OR h.token = $token OR h.until <= now
SET h.token = $token, h.owner = $owner, h.until = now + duration({seconds: $seconds})
RETURN h.token AS token
