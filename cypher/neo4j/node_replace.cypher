// What differs of a node that was exported; null takes a property away.
UNWIND $rows AS row
MATCH (n:%label% {uuid: row.uuid})
WHERE n.projectId = $project
SET n += row.properties
RETURN count(*) AS written
