// A bare property in WITH is told as it is after the SET; an expression keeps what was so before.
LOAD FROM $rows
MATCH (n:%label%) WHERE n.uuid = uuid AND n._state = expected AND coalesce(n._leaseToken, '') = token AND n.projectId = $project
WITH n, to_state%[, |v_%property%]%, coalesce(n._stateChangedAt, n._stateChangedAt) AS since, coalesce(n._retryCount, 0) AS tries
SET n._state = to_state, n._stateChangedAt = $now %[, |n.`%property%` = v_%property%]%
RETURN n.uuid, n._depth, n._detectedAt, since, tries, n._runId
