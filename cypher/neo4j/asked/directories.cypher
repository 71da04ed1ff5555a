// The folders of a root.
MATCH (d:Directory)
WHERE d.projectId = $project AND d.root = $root
RETURN d.uuid AS uuid, d.path AS path
ORDER BY path
