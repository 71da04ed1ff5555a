// Whether a migration of the project was begun and is not finished; there is none in a file: a new graph takes the old one's place when it is whole.
MATCH (m:GraphmillMeta)
WHERE m.key = 'migration' AND m.text CONTAINS '"open": true' AND $project <> ''
RETURN m.key AS key
