// Not DETACH DELETE: the engine's log, replayed, takes other edges away with a node whose own were deleted before.
LOAD FROM $rows MATCH (n:%label%)-[r]->() WHERE n.uuid = uuid AND n.projectId = $project DELETE r
