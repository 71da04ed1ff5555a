// The folders all of whose files are at rest.
MATCH (d:Directory)
WHERE d.projectId = $project AND d._state = 'parsed'
  AND NOT EXISTS { MATCH (d)<-[:IN_DIRECTORY]-(f:File) WHERE NOT f._state IN ['ready', 'skip', 'error'] }
RETURN d.uuid AS uuid
ORDER BY uuid LIMIT $limit
