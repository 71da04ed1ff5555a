// The articles that are ready although something in them is not.
MATCH (a:Article)
WHERE a.projectId = $project AND a._state = 'ready'
  AND EXISTS { MATCH (a)-[:HAS_SECTION]->(s:Section) WHERE NOT s._state IN ['ready', 'skip', 'error'] }
RETURN a.uuid AS uuid
ORDER BY uuid LIMIT $limit
