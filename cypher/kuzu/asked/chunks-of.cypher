// The pieces of a text, and which of them each is.
MATCH (n)-[r:HAS_CHUNK]->(c:Chunk)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN c.uuid AS uuid, r.`index` AS place
