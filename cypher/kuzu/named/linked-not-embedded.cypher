// Nodes that are linked and wait for their vector.
MATCH (n:MarkdownSection:Scope:TextSection:Chunk:Section:Adopted)
WHERE n.projectId = $project AND n._state = 'linked'
RETURN label(n) AS label, n.uuid AS uuid, n.name AS name
ORDER BY label, name, uuid
