UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
REMOVE n.embedding
RETURN count(*) AS written
