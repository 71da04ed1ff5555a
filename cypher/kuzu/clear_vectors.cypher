MATCH (n:%label%) WHERE n.projectId = $project AND n.embedding IS NOT NULL SET n.embedding = NULL RETURN n.uuid
