LOAD FROM $rows
MATCH (n:%label%) WHERE n.uuid = uuid AND n.projectId = $project SET n.embedding = embedding
RETURN n.uuid
