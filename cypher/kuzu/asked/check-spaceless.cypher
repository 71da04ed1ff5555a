// Texts that are ready, where the project has no vector space.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready'
RETURN n.uuid AS uuid, label(n) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
