// Texts that are ready without a vector. To be asked only where the project has a vector space.
// A piece that a migration found has no text that it is cut from, and some of its nodes have no words: no model makes their vectors anew.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND NOT (n._migratedBy IS NOT NULL AND (n:Chunk OR n.content IS NULL)) AND n.embedding IS NULL
RETURN n.uuid AS uuid, head(labels(n)) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
