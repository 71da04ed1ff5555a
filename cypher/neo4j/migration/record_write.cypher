MERGE (m:GraphmillMeta {key: 'migration'})
SET m += $record
RETURN m.key AS key
