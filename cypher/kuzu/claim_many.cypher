UNWIND $uuids AS uuid
MATCH (n:%label%) WHERE n.uuid = uuid AND n._state = $waiting AND n.projectId = $project
SET n._state = $working, n._stateChangedAt = $now, n._leaseOwner = $owner, n._leaseToken = $token, n._leaseUntil = $until %[, |n.`%property%` = $v_%property%]%
RETURN %[n.`%column%`]%
