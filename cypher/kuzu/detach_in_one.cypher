MATCH (n:%label%)<-[r]-() WHERE n.uuid = $uuid AND n.projectId = $project DELETE r
