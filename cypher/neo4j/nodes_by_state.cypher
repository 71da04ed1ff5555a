// Every column of the claim index has a predicate, so that few nodes in a large graph are found without reading it all.
MATCH (n:%label%)
USING INDEX SEEK n:%label%(projectId, _state, _depth, _detectedAt)
WHERE n.projectId = $project AND n._state IN $states AND n._depth >= $shallowest AND n._detectedAt IS NOT NULL
  AND n.uuid > $after AND none(each IN labels(n) WHERE each IN $before)
  AND ($errorType IS NULL OR n._errorType = $errorType)
  AND ($errorClass IS NULL OR n._errorClass = $errorClass)
  AND (NOT $expired OR n._leaseOwner IS NULL OR n._leaseToken IS NULL OR n._leaseUntil IS NULL
    OR n._leaseUntil < datetime.realtime() OR n._leaseUntil > datetime.realtime() + duration({seconds: $longest}))
WITH n ORDER BY n.uuid LIMIT $limit
RETURN n {.*, embedding: null, _content: null} AS row
