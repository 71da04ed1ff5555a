// The pieces of a text.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Adopted)-[:HAS_CHUNK]->(c:Chunk)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN c.uuid AS uuid
