MATCH (n:%label%) WHERE n.projectId = $project AND list_contains($states, n._state) AND n._stateChangedAt >= $since
RETURN count(*)
