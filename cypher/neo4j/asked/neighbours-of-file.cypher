// What a file is connected with: some of each kind.
MATCH (n:File)-[:HAS_SECTION]->(m:MarkdownSection|TextSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_SECTION' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:File)<-[:DEFINED_IN]-(m:Scope)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'DEFINED_IN' AS relationship, FALSE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:File)-[:IN_DIRECTORY]->(m:Directory)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'IN_DIRECTORY' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:File)-[:LINKS_TO]->(m:File|MarkdownSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'LINKS_TO' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:File)<-[:LINKS_TO]-(m:File|MarkdownSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'LINKS_TO' AS relationship, FALSE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
