MATCH (n:%label%) WHERE n.uuid = $uuid AND n.projectId = $project AND n.uuid > $after
  AND ($anyState OR list_contains($states, n._state))
  AND ($errorType = '' OR n._errorType = $errorType)
  AND ($errorClass = '' OR n._errorClass = $errorClass)
RETURN %[n.`%column%`]%
