// The index over a label is shared by all projects of the database.
MATCH (m:GraphmillMeta)
WHERE m.dimension IS NOT NULL AND m.key <> $key
RETURN DISTINCT m.dimension AS dimension
