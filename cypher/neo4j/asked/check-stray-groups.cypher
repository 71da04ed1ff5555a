// Folders and categories that wait for what is never done to them: they are born parsed, and follow what is in them.
MATCH (n:Directory|Category)
WHERE n.projectId = $project AND n.uuid > $after AND n._state IN ['pending', 'linked']
RETURN n.uuid AS uuid, head(labels(n)) AS label, n._state AS found
ORDER BY uuid LIMIT $limit
