MATCH (n:%label%) WHERE n.projectId = $project AND n._state = 'error'
RETURN n._errorType, n._errorMessage, count(*)
