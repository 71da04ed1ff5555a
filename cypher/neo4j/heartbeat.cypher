UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project AND n._leaseToken = $token
SET n._leaseUntil = datetime.realtime() + duration({seconds: $seconds})
RETURN collect(uuid) AS kept
