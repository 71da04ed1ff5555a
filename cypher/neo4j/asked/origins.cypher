// Which file and line nodes come from; line 0 is the whole file.
UNWIND $uuids AS wanted
MATCH (f:File {uuid: wanted})
WHERE f.projectId = $project
RETURN f.uuid AS uuid, f.root AS root, f.path AS path, 0 AS line
UNION ALL
UNWIND $uuids AS wanted
MATCH (n:MarkdownSection {uuid: wanted})<-[:HAS_SECTION]-(f:File)
WHERE n.projectId = $project
RETURN n.uuid AS uuid, f.root AS root, f.path AS path, n.startLine AS line
UNION ALL
UNWIND $uuids AS wanted
MATCH (n:TextSection {uuid: wanted})<-[:HAS_SECTION]-(f:File)
WHERE n.projectId = $project
RETURN n.uuid AS uuid, f.root AS root, f.path AS path, n.startLine AS line
UNION ALL
UNWIND $uuids AS wanted
MATCH (n:Scope {uuid: wanted})-[:DEFINED_IN]->(f:File)
WHERE n.projectId = $project
RETURN n.uuid AS uuid, f.root AS root, f.path AS path, n.startLine AS line
