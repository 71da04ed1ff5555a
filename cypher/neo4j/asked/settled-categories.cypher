// The categories all of whose articles are at rest.
MATCH (c:Category)
WHERE c.projectId = $project AND c._state = 'parsed'
  AND NOT EXISTS { MATCH (c)<-[:IN_CATEGORY]-(a:Article) WHERE NOT a._state IN ['ready', 'skip', 'error'] }
RETURN c.uuid AS uuid
ORDER BY uuid LIMIT $limit
