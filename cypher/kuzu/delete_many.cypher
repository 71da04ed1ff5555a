// Never DETACH: see delete_one.
LOAD FROM $rows MATCH (n:%label%) WHERE n.uuid = uuid AND n.projectId = $project DELETE n
RETURN n.uuid, n._state, n._stateChangedAt, n._retryCount, n._runId
