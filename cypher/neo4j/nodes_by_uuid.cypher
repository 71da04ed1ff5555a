UNWIND $uuids AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.uuid > $after AND n.projectId = $project AND n._state IS NOT NULL
  AND none(each IN labels(n) WHERE each IN $before)
  AND ($states IS NULL OR n._state IN $states)
  AND ($errorType IS NULL OR n._errorType = $errorType)
  AND ($errorClass IS NULL OR n._errorClass = $errorClass)
  AND (NOT $expired OR n._leaseOwner IS NULL OR n._leaseToken IS NULL OR n._leaseUntil IS NULL
    OR n._leaseUntil < datetime.realtime() OR n._leaseUntil > datetime.realtime() + duration({seconds: $longest}))
WITH n ORDER BY n.uuid LIMIT $limit
RETURN n {.*, embedding: null, _content: null} AS row
