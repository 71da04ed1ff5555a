// What a file holds.
MATCH (f:File {uuid: $file})-[:HAS_SECTION]->(p)
WHERE f.projectId = $project
RETURN labels(p)[0] AS label, p.uuid AS uuid
UNION ALL
MATCH (f:File {uuid: $file})<-[:DEFINED_IN]-(s:Scope)
WHERE f.projectId = $project
RETURN labels(s)[0] AS label, s.uuid AS uuid
