// The text that a piece is of, and which of its pieces it is.
MATCH (c:Chunk)<-[r:HAS_CHUNK]-(n:MarkdownSection|TextSection|Scope|Section|Adopted)
WHERE c.uuid = $uuid AND c.projectId = $project
RETURN head(labels(n)) AS label, n.uuid AS uuid, r.index AS place
