// Whether nodes of this database were moved where they are by a migration: never, a new graph is built instead.
MATCH (m:GraphmillMeta)
WHERE m.key = 'moved in place' AND $project <> ''
RETURN m.key AS key, m.text AS project
