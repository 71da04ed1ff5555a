// Texts that are ready with a vector of another model than the project's.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready'
  AND (coalesce(n._embeddingProvider, '') <> $provider OR coalesce(n._embeddingModel, '') <> $model)
RETURN n.uuid AS uuid, label(n) AS label,
  coalesce(n._embeddingProvider, 'none') + ' ' + coalesce(n._embeddingModel, 'none') AS found
ORDER BY uuid LIMIT $limit
