// Partitions that are of no run.
MATCH (p:Partition)
WHERE p.projectId = $project AND p._state IS NOT NULL AND p.uuid > $after AND NOT EXISTS { MATCH (p)<-[:HAS_PARTITION]-(:IngestionRun) }
RETURN p.uuid AS uuid, label(p) AS label, p.name AS found
ORDER BY uuid LIMIT $limit
