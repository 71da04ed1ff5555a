UNWIND $uuids AS uuid
MATCH (n:%label%) WHERE n.uuid = uuid
RETURN n.uuid
