// Sources of a run that nobody has begun to read, in pages by uuid.
MATCH (n:File:Article)
WHERE n.projectId = $project AND n._runId = $run AND n._state = 'pending' AND n.uuid > $after
RETURN n.uuid AS uuid, label(n) AS label
ORDER BY uuid LIMIT $limit
