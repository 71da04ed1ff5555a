// A bare property in WITH is told as it is after the SET; an expression keeps what was so before.
UNWIND $uuids AS uuid
MATCH (n:%label%) WHERE n.uuid = uuid AND n._state = $waiting AND n.projectId = $project
WITH n, coalesce(n._stateChangedAt, n._stateChangedAt) AS since
SET n._state = $working, n._stateChangedAt = $now, n._leaseOwner = $owner, n._leaseToken = $token, n._leaseUntil = $until %[, |n.`%property%` = $v_%property%]%
RETURN since %[, |n.`%column%`]%
