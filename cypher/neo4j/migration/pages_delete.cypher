MATCH (m:GraphmillMeta {kind: 'migrated page'})
WHERE $project IS NULL OR m.project = $project
DETACH DELETE m
