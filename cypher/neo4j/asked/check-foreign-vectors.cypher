// Texts that are ready with a vector of another model than the project's, and whose words are known.
// A piece that a migration found has no text that it is cut from: no model makes its vector anew.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND NOT (n:Chunk AND n._migratedBy IS NOT NULL)
  AND n.content IS NOT NULL AND (coalesce(n._embeddingProvider, '') <> $provider OR coalesce(n._embeddingModel, '') <> $model)
RETURN n.uuid AS uuid, head(labels(n)) AS label,
  coalesce(n._embeddingProvider, 'none') + ' ' + coalesce(n._embeddingModel, 'none') AS found
ORDER BY uuid LIMIT $limit
