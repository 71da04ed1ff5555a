// Never DETACH: see delete_one.
LOAD FROM $rows MATCH (n:%label%) WHERE n.uuid = uuid AND n.projectId = $project DELETE n
