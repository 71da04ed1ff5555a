// What a section of a Markdown file is connected with: some of each kind.
MATCH (n:MarkdownSection)<-[:HAS_SECTION]-(m:File)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_SECTION' AS relationship, FALSE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:MarkdownSection)-[:HAS_PARENT]->(m:MarkdownSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_PARENT' AS relationship, TRUE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:MarkdownSection)<-[:HAS_PARENT]-(m:MarkdownSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_PARENT' AS relationship, FALSE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:MarkdownSection)-[:LINKS_TO]->(m:File:MarkdownSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'LINKS_TO' AS relationship, TRUE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:MarkdownSection)<-[:LINKS_TO]-(m:File:MarkdownSection)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'LINKS_TO' AS relationship, FALSE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
