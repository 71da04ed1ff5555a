UNWIND $uuids AS uuid
MATCH (a:%source%)-[:%type%]->(b:%target%) WHERE a.uuid = uuid AND a.projectId = $project
RETURN a.uuid, b.uuid
