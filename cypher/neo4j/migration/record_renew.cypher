MATCH (m:GraphmillMeta {key: 'migration'})
WHERE m.token = $token
SET m.until = datetime.realtime() + duration({seconds: $seconds})
RETURN m.key AS key
