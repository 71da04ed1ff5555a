// No lease is the empty token: with an OR instead, the planner looks every node up twice.
// All that moved is one record, with times in microseconds: the driver's reading would cost more than the rest.
UNWIND $rows AS row
MATCH (n:%label% {uuid: row.uuid})
WHERE n.projectId = $project
  AND n._state = row.expected
  AND coalesce(n._leaseToken, '') = row.token
  AND (NOT row.expired OR n._leaseOwner IS NULL OR n._leaseToken IS NULL OR n._leaseUntil IS NULL
    OR n._leaseUntil < datetime.realtime() OR n._leaseUntil > datetime.realtime() + duration({seconds: $longest}))
WITH n, row, datetime.realtime() AS now, n._stateChangedAt AS since, n._retryCount AS tries
SET n._state = row.to, %[n.%property% = now]%,
    n._notBefore = CASE WHEN row.delay IS NULL THEN null ELSE now + duration({seconds: row.delay}) END
SET n += row.marks
SET n._leaseOwner = CASE WHEN row.keeps THEN n._leaseOwner END,
    n._leaseToken = CASE WHEN row.keeps THEN n._leaseToken END,
    n._leaseUntil = CASE WHEN row.keeps THEN n._leaseUntil END
RETURN collect([n.uuid, now.epochSeconds * 1000000 + now.microsecond,
    since.epochSeconds * 1000000 + since.microsecond, tries, n._runId]) AS moved
