// Texts that are ready with a vector of another model than the project's.
// A piece that a migration found has no text that it is cut from, and some of its nodes have no words: no model makes their vectors anew.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND NOT (n._migratedBy IS NOT NULL AND (n:Chunk OR n.content IS NULL))
  AND (coalesce(n._embeddingProvider, '') <> $provider OR coalesce(n._embeddingModel, '') <> $model)
RETURN n.uuid AS uuid, head(labels(n)) AS label,
  coalesce(n._embeddingProvider, 'none') + ' ' + coalesce(n._embeddingModel, 'none') AS found
ORDER BY uuid LIMIT $limit
