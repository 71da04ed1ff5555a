// How many nodes of each label are in each state.
MATCH (n)
WHERE n.projectId = $project AND n._state IS NOT NULL
RETURN head(labels(n)) AS label, n._state AS state, count(*) AS count
ORDER BY label, state
