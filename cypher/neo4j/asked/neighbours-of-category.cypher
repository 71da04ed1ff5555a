// What a category is connected with: some of each kind.
MATCH (n:Category)<-[:IN_CATEGORY]-(m:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'IN_CATEGORY' AS relationship, FALSE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
