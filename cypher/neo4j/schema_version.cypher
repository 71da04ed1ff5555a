MATCH (m:GraphmillMeta {key: 'schema'})
RETURN m.number AS version
