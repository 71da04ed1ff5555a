// What a scope is connected with: some of each kind.
MATCH (n:Scope)-[:DEFINED_IN]->(m:File)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'DEFINED_IN' AS relationship, TRUE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Scope)-[:HAS_PARENT]->(m:Scope)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_PARENT' AS relationship, TRUE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Scope)<-[:HAS_PARENT]-(m:Scope)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_PARENT' AS relationship, FALSE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Scope)-[:CONSUMES]->(m:Scope)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'CONSUMES' AS relationship, TRUE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
UNION ALL
MATCH (n:Scope)<-[:CONSUMES]-(m:Scope)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'CONSUMES' AS relationship, FALSE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
