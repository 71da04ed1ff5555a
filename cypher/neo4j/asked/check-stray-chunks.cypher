// Pieces that wait for something although their text is at rest; what no run has made is somebody's own.
MATCH (t:MarkdownSection|TextSection|Scope|Section|Adopted)-[:HAS_CHUNK]->(c:Chunk)
WHERE c.projectId = $project AND c.uuid > $after AND ($everything OR c._runId IS NOT NULL)
  AND c._state IN ['pending', 'parsed', 'linked'] AND t._state IN ['ready', 'skip']
RETURN c.uuid AS uuid, 'Chunk' AS label, c._state AS found
ORDER BY uuid LIMIT $limit
