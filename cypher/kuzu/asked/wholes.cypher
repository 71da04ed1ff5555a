// The text that a piece is of, and which of its pieces it is.
MATCH (c:Chunk)<-[r:HAS_CHUNK]-(n)
WHERE c.uuid = $uuid AND c.projectId = $project AND label(n) <> 'Article'
RETURN label(n) AS label, n.uuid AS uuid, r.`index` AS place
