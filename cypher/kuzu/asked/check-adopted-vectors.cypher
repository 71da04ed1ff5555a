// Nodes with labels that a migration brought, ready, which say of which model their vector is and have none.
// With pieces in the list, because no table of the others may have a column for vectors.
MATCH (n:Chunk:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND label(n) <> 'Chunk' AND n._state = 'ready'
  AND n._embeddingModel IS NOT NULL AND n.content IS NOT NULL AND n.embedding IS NULL
RETURN n.uuid AS uuid, label(n) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
