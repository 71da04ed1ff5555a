// No lease is the empty token: with an OR instead, the planner looks every node up twice.
// Times are returned as numbers, because the driver needs 75 microseconds to decode one.
UNWIND $rows AS row
MATCH (n:%label% {uuid: row.uuid})
WHERE n.projectId = $project
  AND n._state = row.expected
  AND coalesce(n._leaseToken, '') = row.token
  AND (NOT row.expired OR n._leaseUntil IS NULL OR n._leaseUntil < datetime.realtime())
WITH n, row, datetime.realtime() AS now, n._stateChangedAt AS since, n._retryCount AS tries
SET n._state = row.to, %[n.%property% = now]%,
    n._notBefore = CASE WHEN row.delay IS NULL THEN null ELSE now + duration({seconds: row.delay}) END
SET n += row.marks
SET n._leaseOwner = CASE WHEN row.keeps THEN n._leaseOwner END,
    n._leaseToken = CASE WHEN row.keeps THEN n._leaseToken END,
    n._leaseUntil = CASE WHEN row.keeps THEN n._leaseUntil END
RETURN n.uuid AS uuid, now.epochSeconds * 1000000 + now.microsecond AS at,
    since.epochSeconds * 1000000 + since.microsecond AS since, tries, n._runId AS run
