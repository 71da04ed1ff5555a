// The last twenty changes of state.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:Adopted)
WHERE n.projectId = $project
RETURN label(n) AS label, n.uuid AS uuid, n.name AS name, n._state AS state, n._stateChangedAt AS changedAt
ORDER BY changedAt DESC, uuid LIMIT 20
