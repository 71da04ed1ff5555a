// Files that are ready although something in them is not at rest; those that no run has made settle when a worker has gone on with their parts.
MATCH (f:File)
WHERE f.projectId = $project AND f.uuid > $after AND f._state = 'ready' AND f._runId IS NOT NULL
  AND (EXISTS { MATCH (f)-[:HAS_SECTION]->(p:MarkdownSection:TextSection) WHERE NOT list_contains($resting, p._state) }
    OR EXISTS { MATCH (f)<-[:DEFINED_IN]-(s:Scope) WHERE NOT list_contains($resting, s._state) })
RETURN f.uuid AS uuid, 'File' AS label, f.path AS found
ORDER BY uuid LIMIT $limit
