// What the project's files are known to hold, in pages by uuid.
MATCH (n:File)
WHERE n.projectId = $project AND n.uuid > $after
RETURN n.uuid AS uuid, n.root AS root, n.path AS path, n._state AS state, n._manifest AS manifest, n._draft AS draft
ORDER BY uuid LIMIT $limit
