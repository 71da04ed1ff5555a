// The text that a piece is of.
MATCH (c:Chunk)<-[:HAS_CHUNK]-(n:MarkdownSection|TextSection|Scope|Section|Adopted)
WHERE c.uuid = $uuid AND c.projectId = $project
RETURN head(labels(n)) AS label, n.uuid AS uuid
