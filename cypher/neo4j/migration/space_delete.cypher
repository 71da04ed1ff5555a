MATCH (m:GraphmillMeta {key: $key})
DETACH DELETE m
