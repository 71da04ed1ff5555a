// Files that are in no folder; what no run has made is somebody's own.
MATCH (f:File)
WHERE f.projectId = $project AND f._runId IS NOT NULL AND f.uuid > $after AND NOT EXISTS { MATCH (f)-[:IN_DIRECTORY]->(:Directory) }
RETURN f.uuid AS uuid, label(f) AS label, f.name AS found
ORDER BY uuid LIMIT $limit
