// The projects in which nodes are graphmill's own: nodes of sources, and records of runs and workers; with vectors, or with any.
MATCH (n)
WHERE n.projectId IS NOT NULL AND n._depth IS NOT NULL AND n._state IS NOT NULL AND n._migratedBy IS NULL
  AND NOT (n:Chunk AND EXISTS { MATCH (n)<-[:HAS_CHUNK]-(t) WHERE t._migratedBy IS NOT NULL })
RETURN n.projectId AS project, n:Worker OR n:IngestionRun OR n:Partition AS isRecord, max(CASE WHEN n.embedding IS NULL THEN 0 ELSE 1 END) AS vectors
