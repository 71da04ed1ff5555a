UNWIND $rows AS row
MATCH (n:%label% {uuid: row.uuid})
WHERE n.projectId = $project
WITH n, row, datetime.realtime() AS now
SET n += row.properties
SET %[n.%property% = now]%
