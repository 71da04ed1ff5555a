// The order names every column of the claim index: only so does the index deliver it and nothing is sorted.
// No OR either: the planner may make a union of it, and sort that.
// The age is a number, because the driver needs longer to read a time than the server to find the node.
MATCH (n:%label%)
USING INDEX SEEK n:%label%(projectId, _state, _depth, _detectedAt)
WHERE n.projectId = $project AND n._state = $waiting AND n._depth >= $shallowest AND n._detectedAt IS NOT NULL
  AND coalesce(n._notBefore, n._detectedAt) <= datetime.realtime()
RETURN n.uuid AS uuid, n._depth AS depth,
    n._detectedAt.epochSeconds * 1000000000 + n._detectedAt.nanosecond AS age
ORDER BY n.projectId, n._state, n._depth, n._detectedAt
SKIP $skip LIMIT $limit
