MATCH (h:GraphmillHold {key: $key})
WHERE h.token = $token
REMOVE h.token, h.owner, h.until
RETURN h.key AS key
