// What an article is connected with: some of each kind.
MATCH (n:Article)-[:HAS_SECTION]->(m:Section)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_SECTION' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Article)-[:LINKS_TO]->(m:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'LINKS_TO' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Article)<-[:LINKS_TO]-(m:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'LINKS_TO' AS relationship, FALSE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Article)-[:IN_CATEGORY]->(m:Category)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'IN_CATEGORY' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Article)-[:REDIRECTS_TO]->(m:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'REDIRECTS_TO' AS relationship, TRUE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Article)<-[:REDIRECTS_TO]-(m:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'REDIRECTS_TO' AS relationship, FALSE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
