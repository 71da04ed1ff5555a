MATCH (n:%label%) WHERE n.uuid = $uuid AND n.projectId = $project DETACH DELETE n
