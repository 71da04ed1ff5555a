MATCH (m:GraphmillMeta {kind: 'migrated page'})
DETACH DELETE m
