MATCH (h:GraphmillHold {key: $key})
WHERE h.token = $token
SET h.until = datetime.realtime() + duration({seconds: $seconds})
RETURN h.token AS token
