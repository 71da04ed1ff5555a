MATCH (m:GraphmillMeta {key: 'migration'})
DETACH DELETE m
