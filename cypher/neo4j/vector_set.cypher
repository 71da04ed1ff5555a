UNWIND $rows AS row
MATCH (n:%label% {uuid: row.uuid})
WHERE n.projectId = $project
CALL db.create.setNodeVectorProperty(n, 'embedding', row.values)
RETURN count(*) AS written
