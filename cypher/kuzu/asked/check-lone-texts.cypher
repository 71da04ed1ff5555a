// Parts of files that are in no file; what no run has made is somebody's own.
MATCH (p:MarkdownSection:TextSection)
WHERE p.projectId = $project AND p._runId IS NOT NULL AND p.uuid > $after AND NOT EXISTS { MATCH (p)<-[:HAS_SECTION]-(:File) }
RETURN p.uuid AS uuid, label(p) AS label, p.name AS found
ORDER BY uuid LIMIT $limit
