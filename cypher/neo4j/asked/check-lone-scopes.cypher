// Scopes that are in no file; what no run has made is somebody's own.
MATCH (s:Scope)
WHERE s.projectId = $project AND s._runId IS NOT NULL AND s.uuid > $after AND NOT EXISTS { MATCH (s)-[:DEFINED_IN]->(:File) }
RETURN s.uuid AS uuid, head(labels(s)) AS label, s.name AS found
ORDER BY uuid LIMIT $limit
