UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
DETACH DELETE n
