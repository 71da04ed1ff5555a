// The files that wait for nothing but themselves: everything in them is at rest. In pages by uuid.
MATCH (f:File)
WHERE f.projectId = $project AND f.uuid > $after AND (f._state = 'linked' OR (f._state = 'error' AND f._errorType = 'embed'))
  AND NOT EXISTS { MATCH (f)-[:HAS_SECTION]->(p) WHERE NOT p._state IN ['ready', 'skip', 'error'] }
  AND NOT EXISTS { MATCH (f)<-[:DEFINED_IN]-(s:Scope) WHERE NOT s._state IN ['ready', 'skip', 'error'] }
RETURN f.uuid AS uuid, f._state AS state
ORDER BY uuid LIMIT $limit
