// Which of these nodes cannot be read here: they are of sources that are away, and do not bring their content.
MATCH (n:%label%) WHERE n.projectId = $project AND n.uuid IN $uuids AND n.%source% IN $away AND n._content IS NULL
RETURN n.uuid
