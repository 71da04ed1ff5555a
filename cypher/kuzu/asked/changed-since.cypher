// Where the nodes stand whose state changed at $since or later, and since when.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition:Worker:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._stateChangedAt >= $since AND n._state IS NOT NULL
RETURN n.uuid AS uuid, label(n) AS label, n._state AS state, n._stateChangedAt AS at, n._runId AS run
ORDER BY uuid LIMIT $limit
