// Runs that are completed although one of their partitions is not. One that was planned anew is another one's to read.
MATCH (r:IngestionRun)
WHERE r.projectId = $project AND r.uuid > $after AND r._state = 'ready'
  AND EXISTS { MATCH (r)-[:HAS_PARTITION]->(p:Partition) WHERE p._state <> 'ready' AND coalesce(p._errorMessage, '') <> $replanned }
RETURN r.uuid AS uuid, 'IngestionRun' AS label, r.source AS found
ORDER BY uuid LIMIT $limit
