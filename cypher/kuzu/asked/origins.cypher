// Which file and line nodes come from; line 0 is the whole file.
UNWIND $uuids AS wanted
MATCH (f:File)
WHERE f.uuid = wanted AND f.projectId = $project
RETURN f.uuid AS uuid, f.root AS root, f.path AS path, 0 AS line
UNION ALL
UNWIND $uuids AS wanted
MATCH (f:File)-[:HAS_SECTION]->(n:MarkdownSection:TextSection)
WHERE n.uuid = wanted AND n.projectId = $project
RETURN n.uuid AS uuid, f.root AS root, f.path AS path, n.startLine AS line
UNION ALL
UNWIND $uuids AS wanted
MATCH (f:File)<-[:DEFINED_IN]-(n:Scope)
WHERE n.uuid = wanted AND n.projectId = $project
RETURN n.uuid AS uuid, f.root AS root, f.path AS path, n.startLine AS line
