UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
WITH n, uuid, n._state AS state, n._stateChangedAt AS since, n._retryCount AS tries, n._runId AS run, datetime.realtime() AS now
DETACH DELETE n
RETURN uuid, state, now.epochSeconds * 1000000 + now.microsecond AS at,
    since.epochSeconds * 1000000 + since.microsecond AS since, tries, run
