MATCH (n:%label%)
WHERE n.projectId = $project AND n._state IS NOT NULL AND n.embedding IS NOT NULL AND size(n.embedding) = $dimension
WITH n, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, n.uuid LIMIT $limit
RETURN n {.*, embedding: null, _content: null} AS row, score
