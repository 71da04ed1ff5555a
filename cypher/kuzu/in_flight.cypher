MATCH (n:%label%) WHERE n.projectId = $project AND n._leaseToken IS NOT NULL RETURN n.uuid, n._leaseToken
