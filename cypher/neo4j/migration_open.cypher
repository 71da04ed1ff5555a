// The migration of an older graph that was begun and is not finished, and the project it is limited to; no row where there is none.
MATCH (m:GraphmillMeta {key: 'migration'})
WHERE m.open
RETURN m.scope AS project
