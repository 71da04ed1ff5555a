// How many nodes are in each state, and how many came there since then.
MATCH (n:%label%) WHERE n.projectId = $project AND n._state IS NOT NULL
RETURN n._state, count(*), count(CASE WHEN n._stateChangedAt >= $since THEN 1 END)
