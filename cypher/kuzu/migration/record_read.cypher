MATCH (m:GraphmillMeta {key: 'migration'})
RETURN m.text AS record
