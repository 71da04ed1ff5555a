// What was embedded, with the hash that was kept of it, in pages by uuid.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND n._embeddingHash IS NOT NULL
RETURN n.uuid AS uuid, head(labels(n)) AS label, n.name AS name, n.content AS content, n._embeddingHash AS hash
ORDER BY uuid LIMIT $limit
