// Nodes with a lease, or a time before which they must not be claimed, that is further away than graphmill ever sets it.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition)
WHERE n.projectId = $project AND n.uuid > $after
  AND ((n._state IN $working AND n._leaseUntil > datetime.realtime() + duration({seconds: $longest}))
    OR n._notBefore > datetime.realtime() + duration({seconds: $longest}))
RETURN n.uuid AS uuid, head(labels(n)) AS label, n._state AS found
ORDER BY uuid LIMIT $limit
