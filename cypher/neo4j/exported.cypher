UNWIND $uuids AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
RETURN properties(n) AS properties
