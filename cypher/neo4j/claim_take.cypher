// A node that already has this token was taken by the same claim, whose answer got lost. All are one record, with times in
// microseconds: most of what a claim costs would be the driver's reading of them.
UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
  AND n._state = CASE WHEN n._leaseToken = $token THEN $working ELSE $waiting END
  AND (n._notBefore IS NULL OR n._notBefore <= datetime.realtime()
    OR n._notBefore > datetime.realtime() + duration({seconds: $longest}))
WITH n, datetime.realtime() AS now, CASE WHEN n._leaseToken = $token THEN null ELSE n._stateChangedAt END AS since
SET n._state = $working, %[n.%property% = now]%,
    n._leaseOwner = $owner, n._leaseToken = $token, n._leaseUntil = now + duration({seconds: $seconds})
SET n += $marks
REMOVE n._notBefore
RETURN collect([since.epochSeconds * 1000000 + since.microsecond, n {.*, embedding: null, _content: null,
    _detectedAt: n._detectedAt.epochSeconds * 1000000 + n._detectedAt.microsecond,
    _stateChangedAt: now.epochSeconds * 1000000 + now.microsecond, _leaseUntil: null}]) AS taken
