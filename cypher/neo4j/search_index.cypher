// The index keeps rounded vectors: the score is computed from the stored ones. The engine's is (1 + cosine) / 2.
CALL db.index.vector.queryNodes($index, $reach, $vector) YIELD node AS n
WITH n WHERE n.projectId = $project AND n._state IS NOT NULL AND size(n.embedding) = $dimension
WITH n, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS score
ORDER BY score DESC, n.uuid LIMIT $limit
RETURN n {.*, embedding: null, _content: null} AS row, score
