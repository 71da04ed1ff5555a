UNWIND $uuids AS uuid
MATCH (a:%source%)-[:%type%]->(b:%target%) WHERE b.uuid = uuid AND b.projectId = $project
RETURN a.uuid, b.uuid
