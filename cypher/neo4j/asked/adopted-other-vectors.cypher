// As other-vectors, of nodes that go by none of graphmill's own labels: a migration found them and gave them a state.
MATCH (m:GraphmillMeta {key: 'labels'})
MATCH (n)
WHERE n.projectId = $project
  AND ((n._state = 'ready' AND (n._embeddingProvider <> $provider OR n._embeddingModel <> $model))
    OR (n._state = 'skip' AND n._errorMessage = $unembedded))
  AND any(each IN labels(n) WHERE each IN m.labels)
  AND NOT n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Worker
WITH n, [each IN labels(n) WHERE each IN m.labels] AS known
RETURN reduce(first = head(known), each IN known | CASE WHEN each < first THEN each ELSE first END) AS label, n.uuid AS uuid, n._state AS state
ORDER BY uuid LIMIT $limit
