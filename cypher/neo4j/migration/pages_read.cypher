MATCH (m:GraphmillMeta {kind: 'migrated page'})
RETURN m.rules AS rules
