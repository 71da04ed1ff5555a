MATCH (n:%label%)
USING INDEX SEEK n:%label%(projectId, _state, _depth, _detectedAt)
WHERE n.projectId = $project AND n._state = 'error' AND n._depth >= $shallowest AND n._detectedAt IS NOT NULL
RETURN coalesce(n._errorType, '') AS errorType, coalesce(n._errorMessage, '') AS message, count(*) AS count
ORDER BY count DESC, errorType, message
LIMIT $limit
