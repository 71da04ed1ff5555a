MATCH (n:%label%) WHERE n.projectId = $project RETURN n._state, count(*)
