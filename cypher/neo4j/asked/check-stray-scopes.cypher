// Scopes that wait to be parsed or linked in a file that is past that. Those that no run has made are sent on by a worker: only a job asks for $everything.
MATCH (w:File)<-[:DEFINED_IN]-(t:Scope)
WHERE t.projectId = $project AND t.uuid > $after AND ($everything OR t._runId IS NOT NULL)
  AND ((t._state IN ['pending', 'parsed'] AND (w._state IN ['linked', 'embedding', 'ready', 'skip'] OR (w._state = 'error' AND w._errorType = 'embed')))
    OR (t._state = 'pending' AND w._state = 'error'))
RETURN t.uuid AS uuid, 'Scope' AS label, t._state AS found
ORDER BY uuid LIMIT $limit
