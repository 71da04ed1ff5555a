// The texts that need another vector: made by another model, or left out while there was none. Without its text none can be made.
MATCH (n:MarkdownSection|TextSection|Scope|Section|Adopted)
WHERE n.projectId = $project
  AND ((n._state = 'ready' AND n.content IS NOT NULL AND (n._embeddingProvider <> $provider OR n._embeddingModel <> $model))
    OR (n._state = 'skip' AND n._errorMessage = $unembedded))
RETURN head(labels(n)) AS label, n.uuid AS uuid, n._state AS state
ORDER BY uuid LIMIT $limit
