// Nodes that are being worked on by nobody.
// One without a depth is not graphmill's: it may be part of an older graph that was not migrated yet.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition:Worker:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._depth IS NOT NULL AND list_contains($working, n._state)
  AND (n._leaseOwner IS NULL OR n._leaseToken IS NULL OR n._leaseUntil IS NULL)
RETURN n.uuid AS uuid, label(n) AS label, n._state AS found
ORDER BY uuid LIMIT $limit
