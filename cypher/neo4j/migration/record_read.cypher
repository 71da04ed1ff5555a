// What is remembered of the migration of this database.
MATCH (m:GraphmillMeta {key: 'migration'})
RETURN properties(m) AS record
