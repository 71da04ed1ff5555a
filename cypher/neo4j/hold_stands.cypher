MATCH (h:GraphmillHold {key: $key})
WHERE h.token = $token AND h.until > datetime.realtime()
RETURN h.key AS key
