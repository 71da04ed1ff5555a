// How many parts of each file are in error.
MATCH (f:File)-[:HAS_SECTION]->(p:MarkdownSection:TextSection)
WHERE f.projectId = $project AND p._state = 'error'
RETURN f.uuid AS uuid, count(*) AS count
UNION ALL
MATCH (f:File)<-[:DEFINED_IN]-(s:Scope)
WHERE f.projectId = $project AND s._state = 'error'
RETURN f.uuid AS uuid, count(*) AS count
