MATCH (a:%source%), (b:%target%) WHERE a.uuid = $source AND b.uuid = $target AND a.projectId = $project AND b.projectId = $project
MERGE (a)-[r:%type%]->(b) %[SET |r.`%property%` = $v_%property%]%
RETURN a.uuid, b.uuid
