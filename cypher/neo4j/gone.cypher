UNWIND $rows AS uuid
OPTIONAL MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
WITH uuid, n
WHERE n IS NULL
RETURN DISTINCT uuid
ORDER BY uuid
LIMIT 10
