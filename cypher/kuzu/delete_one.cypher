// Never DETACH: what that writes into the log for a node without edges takes those of another node away when it is replayed.
MATCH (n:%label%) WHERE n.uuid = $uuid AND n.projectId = $project DELETE n
RETURN n.uuid, n._state, n._stateChangedAt, n._retryCount, n._runId
