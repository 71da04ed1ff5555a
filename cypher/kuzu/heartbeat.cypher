UNWIND $uuids AS uuid
MATCH (n:%label%) WHERE n.uuid = uuid AND n._leaseToken = $token AND n.projectId = $project
SET n._leaseUntil = $until
RETURN n.uuid
