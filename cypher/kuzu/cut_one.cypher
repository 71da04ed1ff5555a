MATCH (a:%source%)-[r:%type%]->(b:%target%) WHERE a.uuid = $source AND b.uuid = $target AND a.projectId = $project DELETE r
