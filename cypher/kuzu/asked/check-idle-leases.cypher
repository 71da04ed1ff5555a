// Nodes with a lease, or with what is left of one, although nobody works on them.
// One without a depth is not graphmill's: it may be part of an older graph that was not migrated yet.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition:Worker:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._depth IS NOT NULL AND NOT list_contains($working, n._state)
  AND (n._leaseOwner IS NOT NULL OR n._leaseToken IS NOT NULL OR n._leaseUntil IS NOT NULL)
RETURN n.uuid AS uuid, label(n) AS label, n._state AS found
ORDER BY uuid LIMIT $limit
