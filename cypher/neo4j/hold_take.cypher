// Under this token already, it was taken by the same call, whose answer got lost.
WITH datetime.realtime() AS now
MATCH (h:GraphmillHold {key: $key})
WHERE h.token IS NULL OR h.token = $token OR h.until IS NULL OR h.until <= now
  OR h.until > now + duration({seconds: $longest})
SET h.token = $token, h.owner = $owner, h.until = now + duration({seconds: $seconds})
RETURN h.token AS token
