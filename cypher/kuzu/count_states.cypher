// How many nodes are in each state, how many of them under a lease, and how many came there since then.
MATCH (n:%label%) WHERE n.projectId = $project AND n._state IS NOT NULL
RETURN n._state, count(*), count(n._leaseToken), count(CASE WHEN n._stateChangedAt >= $since THEN 1 END)
