UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})-[r:%type%]->()
WHERE n.projectId = $project
DELETE r
