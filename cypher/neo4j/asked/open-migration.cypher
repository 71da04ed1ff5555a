// Whether a migration of the project was begun and is not finished; one that moves nodes where they are.
MATCH (m:GraphmillMeta {key: 'migration'})
WHERE m.open AND coalesce(m.scope, $project) = $project
RETURN m.key AS key
