// The twenty nodes that changed their state last.
MATCH (n)
WHERE n.projectId = $project AND n._state IS NOT NULL
RETURN head(labels(n)) AS label, n.uuid AS uuid, n.name AS name, n._state AS state, n._stateChangedAt AS changedAt
ORDER BY changedAt DESC, uuid
LIMIT 20
