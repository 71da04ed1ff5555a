// What a section of an article is connected with: some of each kind.
MATCH (n:Section)<-[:HAS_SECTION]-(m:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'HAS_SECTION' AS relationship, FALSE AS forward, head(labels(m)) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
