// The articles that wait for nothing but themselves: everything in them is at rest. In pages by uuid.
MATCH (a:Article)
WHERE a.projectId = $project AND a.uuid > $after AND (a._state = 'linked' OR (a._state = 'error' AND a._errorType = 'embed'))
  AND NOT EXISTS { MATCH (a)-[:HAS_SECTION]->(s:Section) WHERE NOT s._state IN ['ready', 'skip', 'error'] }
RETURN a.uuid AS uuid, a._state AS state
ORDER BY uuid LIMIT $limit
