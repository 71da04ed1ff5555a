// Texts that are ready and have more or fewer pieces than they tell.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready'
WITH n, COUNT { MATCH (n)-[:HAS_CHUNK]->(:Chunk) } AS pieces
WHERE pieces <> coalesce(n._chunks, 0)
RETURN n.uuid AS uuid, label(n) AS label, CAST(pieces AS STRING) + ' instead of ' + CAST(coalesce(n._chunks, 0) AS STRING) AS found
ORDER BY uuid LIMIT $limit
