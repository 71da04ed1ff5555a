// Where the nodes stand whose state changed at $since or later, and since when (in microseconds: a time takes the driver long).
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Worker|Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._stateChangedAt >= $since AND n._state IS NOT NULL
WITH n, n._stateChangedAt AS changed
RETURN n.uuid AS uuid, head(labels(n)) AS label, n._state AS state,
    changed.epochSeconds * 1000000 + changed.microsecond AS at, n._runId AS run
ORDER BY uuid LIMIT $limit
