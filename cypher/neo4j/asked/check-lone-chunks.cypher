// Pieces that are of no text; what no run has made is somebody's own.
MATCH (c:Chunk)
WHERE c.projectId = $project AND c._runId IS NOT NULL AND c.uuid > $after AND NOT EXISTS { MATCH (c)<-[:HAS_CHUNK]-(:MarkdownSection|TextSection|Scope|Section|Adopted) }
RETURN c.uuid AS uuid, head(labels(c)) AS label, c.name AS found
ORDER BY uuid LIMIT $limit
