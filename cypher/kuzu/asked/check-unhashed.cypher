// Texts that are ready without the hash of what was embedded.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND n._embeddingHash IS NULL
RETURN n.uuid AS uuid, label(n) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
