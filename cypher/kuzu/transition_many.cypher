UNWIND $uuids AS uuid
MATCH (n:%label%) WHERE n.uuid = uuid AND n._state = $expected AND coalesce(n._leaseToken, '') = $token AND n.projectId = $project
SET n._state = $to_state, n._stateChangedAt = $now %[, |n.`%property%` = $v_%property%]%
RETURN n.uuid, n._depth, n._detectedAt
