// Which of these nodes only another machine can read: they are of roots that are away, and do not bring their content.
MATCH (n:%label%) WHERE n.projectId = $project AND n.uuid IN $uuids AND n.root IN $away AND n._content IS NULL
RETURN n.uuid
