// The files that are ready although something in them is not.
MATCH (f:File)
WHERE f.projectId = $project AND f._state = 'ready'
  AND (EXISTS { MATCH (f)-[:HAS_SECTION]->(p:MarkdownSection:TextSection) WHERE NOT p._state IN ['ready', 'skip', 'error'] }
    OR EXISTS { MATCH (f)<-[:DEFINED_IN]-(s:Scope) WHERE NOT s._state IN ['ready', 'skip', 'error'] })
RETURN f.uuid AS uuid
ORDER BY uuid LIMIT $limit
