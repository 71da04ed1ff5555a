// Whether anything but bookkeeping is graphmill's own: a node with a state that no migration gave it. The records of runs and
// workers do not count, nor do the pieces of a migrated text: a rollback takes them away.
MATCH (n)
WHERE n._depth IS NOT NULL AND n._state IS NOT NULL AND n._migratedBy IS NULL
  AND NOT (n:Worker OR n:IngestionRun OR n:Partition)
  AND NOT (n:Chunk AND EXISTS { MATCH (n)<-[:HAS_CHUNK]-(t) WHERE t._migratedBy IS NOT NULL })
WITH n LIMIT 1
RETURN count(*) AS count
