// Merged also where it is new: the transaction may run again after it was committed and its answer got lost.
UNWIND $rows AS row
MATCH (a:%source% {uuid: row.source}) WHERE a.projectId = $project
MATCH (b:%target% {uuid: row.target}) WHERE b.projectId = $project
MERGE (a)-[r:%type%]->(b)
SET r = row.properties
RETURN count(*) AS written
