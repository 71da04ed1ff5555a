// Sections that are in no article.
MATCH (s:Section)
WHERE s.projectId = $project AND s.uuid > $after AND NOT EXISTS { MATCH (s)<-[:HAS_SECTION]-(:Article) }
RETURN s.uuid AS uuid, label(s) AS label, s.name AS found
ORDER BY uuid LIMIT $limit
