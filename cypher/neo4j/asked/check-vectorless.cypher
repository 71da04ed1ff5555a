// Texts that are ready without a vector, and whose words are known: without them none can be made. To be asked only where the project has a vector space.
// A piece that a migration found has no text that it is cut from: no model makes its vector anew.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND NOT (n:Chunk AND n._migratedBy IS NOT NULL) AND n.content IS NOT NULL AND n.embedding IS NULL
RETURN n.uuid AS uuid, head(labels(n)) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
