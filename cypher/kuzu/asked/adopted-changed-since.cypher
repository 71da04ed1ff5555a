// As changed-since, of labels that a migration adopted, which are put in for `Adopted`.
MATCH (n:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._stateChangedAt >= $since AND n._state IS NOT NULL
RETURN n.uuid AS uuid, label(n) AS label, n._state AS state, n._stateChangedAt AS at, n._runId AS run
ORDER BY uuid LIMIT $limit
