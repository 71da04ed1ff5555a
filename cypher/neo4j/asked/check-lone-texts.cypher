// Parts of files that are in no file.
MATCH (p:MarkdownSection|TextSection)
WHERE p.projectId = $project AND p.uuid > $after AND NOT EXISTS { MATCH (p)<-[:HAS_SECTION]-(:File) }
RETURN p.uuid AS uuid, head(labels(p)) AS label, p.name AS found
ORDER BY uuid LIMIT $limit
