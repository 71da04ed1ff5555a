// Texts that are ready and have more or fewer pieces than they tell; those that a migration found are not counted.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready'
WITH n, COUNT { (n)-[:HAS_CHUNK]->(c:Chunk) WHERE c._migratedBy IS NULL } AS pieces
WHERE pieces <> coalesce(n._chunks, 0)
RETURN n.uuid AS uuid, head(labels(n)) AS label, toString(pieces) + ' instead of ' + toString(coalesce(n._chunks, 0)) AS found
ORDER BY uuid LIMIT $limit
