// Texts whose vector is not as long as all others, or has no direction. Only where the project has a vector space.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND n.embedding IS NOT NULL
WITH n, reduce(square = 0.0, each IN n.embedding | square + each * each) AS square
WHERE size(n.embedding) <> $dimension OR NOT (square > $least AND square < $most)
RETURN n.uuid AS uuid, head(labels(n)) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
