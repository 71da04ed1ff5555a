MATCH (m:GraphmillMeta {key: 'labels'})
DETACH DELETE m
