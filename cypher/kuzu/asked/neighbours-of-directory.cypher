// What a folder is connected with: some of each kind.
MATCH (n:Directory)<-[:IN_DIRECTORY]-(m:File)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN 'IN_DIRECTORY' AS relationship, FALSE AS forward, label(m) AS label, m.uuid AS uuid, m.name AS name
ORDER BY uuid LIMIT $limit
