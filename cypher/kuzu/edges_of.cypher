UNWIND $sources AS source
MATCH (a:%source%)-[r:%type%]->(b:%target%) WHERE a.uuid = source AND a.projectId = $project AND b.projectId = $project
RETURN a.uuid, b.uuid %[, |r.`%column%`]%
