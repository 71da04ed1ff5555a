UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
RETURN uuid, n._state AS state, n._leaseToken AS token
