MATCH (n:%label%)-[r:%type%]->() WHERE n.uuid = $uuid AND n.projectId = $project DELETE r
