// Texts that are ready without a vector. To be asked only where the project has a vector space.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND n.embedding IS NULL
RETURN n.uuid AS uuid, label(n) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
