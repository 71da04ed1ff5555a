// Files that are in no folder.
MATCH (f:File)
WHERE f.projectId = $project AND f.uuid > $after AND NOT EXISTS { MATCH (f)-[:IN_DIRECTORY]->(:Directory) }
RETURN f.uuid AS uuid, label(f) AS label, f.name AS found
ORDER BY uuid LIMIT $limit
