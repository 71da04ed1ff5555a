MATCH (m:GraphmillMeta {kind: 'migrated page'})
WHERE $project IS NULL OR m.project = $project
RETURN m.rules AS rules
