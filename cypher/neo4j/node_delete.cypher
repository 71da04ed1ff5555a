UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
WITH n, uuid, n._state AS state, n._stateChangedAt AS since, n._retryCount AS tries, n._runId AS run, datetime.realtime() AS now
DETACH DELETE n
RETURN collect([uuid, state, now.epochSeconds * 1000000 + now.microsecond,
    since.epochSeconds * 1000000 + since.microsecond, tries, run]) AS removed
