// The sections of an article.
MATCH (a:Article)-[:HAS_SECTION]->(s:Section)
WHERE a.uuid = $uuid AND a.projectId = $project
RETURN s.uuid AS uuid
