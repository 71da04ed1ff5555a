// Whether nodes of this database were moved where they are by a migration; no row where none were.
MATCH (m:GraphmillMeta) WHERE m.key IN ['migration', 'labels']
RETURN m.key AS key, $project AS project LIMIT 1
