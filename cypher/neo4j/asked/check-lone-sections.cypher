// Sections that are in no article; what no run has made is somebody's own.
MATCH (s:Section)
WHERE s.projectId = $project AND s._runId IS NOT NULL AND s.uuid > $after AND NOT EXISTS { MATCH (s)<-[:HAS_SECTION]-(:Article) }
RETURN s.uuid AS uuid, head(labels(s)) AS label, s.name AS found
ORDER BY uuid LIMIT $limit
