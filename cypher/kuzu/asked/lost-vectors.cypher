// Texts that are ready with a vector of a former space, or without the one they had. Ask only where the project has a vector space.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Adopted)
WHERE n.projectId = $project AND n._state = 'ready' AND n.content IS NOT NULL AND n._embeddingModel IS NOT NULL
  AND (n._embeddingProvider <> $provider OR n._embeddingModel <> $model OR n.embedding IS NULL)
RETURN label(n) AS label, n.uuid AS uuid, n._state AS state
ORDER BY uuid LIMIT $limit
