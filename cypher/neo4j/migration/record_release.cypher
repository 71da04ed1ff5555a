MATCH (m:GraphmillMeta {key: 'migration'})
WHERE m.token = $token
REMOVE m.token, m.until
