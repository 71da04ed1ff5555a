// As changed-since, of nodes that go by none of graphmill's own labels: a migration found them and gave them a state.
MATCH (m:GraphmillMeta {key: 'labels'})
MATCH (n)
WHERE n.projectId = $project AND n.uuid > $after AND n._stateChangedAt >= $since AND n._state IS NOT NULL
  AND any(each IN labels(n) WHERE each IN m.labels)
  AND NOT n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Worker
WITH n, n._stateChangedAt AS changed, [each IN labels(n) WHERE each IN m.labels] AS known
RETURN n.uuid AS uuid, reduce(first = head(known), each IN known | CASE WHEN each < first THEN each ELSE first END) AS label,
    n._state AS state, changed.epochSeconds * 1000000 + changed.microsecond AS at, n._runId AS run
ORDER BY uuid LIMIT $limit
