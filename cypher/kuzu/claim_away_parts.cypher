// As claim_away, of nodes that never have a content.
MATCH (n:%label%) WHERE n.projectId = $project AND n.uuid IN $uuids AND n.%source% IN $away
RETURN n.uuid
