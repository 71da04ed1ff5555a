// A node as it was exported. One that is there already becomes so by node_replace: it may be another project's.
UNWIND $rows AS row
MERGE (n:%label% {uuid: row.uuid})
ON CREATE SET n = row.properties
RETURN count(CASE WHEN n.projectId = $project THEN 1 END) AS written
