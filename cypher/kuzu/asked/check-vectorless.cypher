// Texts that are ready without a vector, and whose words are known: without them none can be made. To be asked only where the project has a vector space.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND n.content IS NOT NULL AND n.embedding IS NULL
RETURN n.uuid AS uuid, label(n) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
