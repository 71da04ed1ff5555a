// As claim_candidates, without what cannot be read here: nodes of sources that are away, unless they bring their content.
MATCH (n:%label%)
USING INDEX SEEK n:%label%(projectId, _state, _depth, _detectedAt)
WHERE n.projectId = $project AND n._state = $waiting AND n._depth >= $shallowest AND n._detectedAt IS NOT NULL
  AND CASE WHEN n._notBefore > datetime.realtime() + duration({seconds: $longest}) THEN true
    ELSE coalesce(n._notBefore, n._detectedAt) <= datetime.realtime() END
  AND CASE WHEN n.%source% IN $away THEN n._content IS NOT NULL ELSE true END
WITH n
ORDER BY n.projectId, n._state, n._depth, n._detectedAt
SKIP $skip LIMIT $limit
RETURN collect([n._depth, n._detectedAt.epochSeconds * 1000000000 + n._detectedAt.nanosecond, n.uuid]) AS found
