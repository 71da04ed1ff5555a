// The text that a piece is of.
MATCH (c:Chunk)<-[:HAS_CHUNK]-(n)
WHERE c.uuid = $uuid AND c.projectId = $project AND label(n) <> 'Article'
RETURN label(n) AS label, n.uuid AS uuid
