// Pieces with a vector of another model whose text is not ready; those that no run has made are the user's.
MATCH (t:MarkdownSection:TextSection:Scope:Section:Adopted)-[:HAS_CHUNK]->(c:Chunk)
WHERE c.projectId = $project AND c.uuid > $after AND c._runId IS NOT NULL AND c._state = 'ready' AND t._state <> 'ready'
  AND (c._embeddingProvider <> $provider OR c._embeddingModel <> $model)
RETURN c.uuid AS uuid
ORDER BY uuid LIMIT $limit
