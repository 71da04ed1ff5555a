// What a file holds.
MATCH (f:File)-[:HAS_SECTION]->(p:MarkdownSection:TextSection)
WHERE f.uuid = $file AND f.projectId = $project
RETURN label(p) AS label, p.uuid AS uuid
UNION ALL
MATCH (f:File)<-[:DEFINED_IN]-(s:Scope)
WHERE f.uuid = $file AND f.projectId = $project
RETURN label(s) AS label, s.uuid AS uuid
