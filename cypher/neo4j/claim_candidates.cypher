// The order names every column of the claim index: only so does the index deliver it and nothing is sorted.
// No OR either: the planner may make a union of it, and sort that.
// The age is a number, because the driver needs longer to read a time than the server to find the node; and all are one
// record, because it needs as long again for each of these.
MATCH (n:%label%)
USING INDEX SEEK n:%label%(projectId, _state, _depth, _detectedAt)
WHERE n.projectId = $project AND n._state = $waiting AND n._depth >= $shallowest AND n._detectedAt IS NOT NULL
  AND CASE WHEN n._notBefore > datetime.realtime() + duration({seconds: $longest}) THEN true
    ELSE coalesce(n._notBefore, n._detectedAt) <= datetime.realtime() END
WITH n
ORDER BY n.projectId, n._state, n._depth, n._detectedAt
SKIP $skip LIMIT $limit
RETURN collect([n._depth, n._detectedAt.epochSeconds * 1000000000 + n._detectedAt.nanosecond, n.uuid]) AS found
