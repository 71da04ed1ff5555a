// Sources of a run that were not read because it was cancelled, in pages by uuid.
MATCH (n:File:Article)
WHERE n.projectId = $project AND n._runId = $run AND n._state = 'skip' AND n._errorMessage = $reason AND n.uuid > $after
RETURN n.uuid AS uuid, label(n) AS label
ORDER BY uuid LIMIT $limit
