// Nodes that are being worked on and that no running worker holds: their lease is over, or its owner is gone.
// Filled in: $gone, the owners that are known to be gone, and $longest, the seconds that a lease lasts at most.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Adopted)
WHERE n.projectId = $project AND n._state IN ['parsing', 'linking', 'embedding']
  AND (n._leaseOwner IN $gone
    OR n._leaseOwner IS NULL OR n._leaseToken IS NULL OR n._leaseUntil IS NULL
    OR n._leaseUntil < datetime.realtime() OR n._leaseUntil > datetime.realtime() + duration({seconds: $longest}))
RETURN head(labels(n)) AS label, n.uuid AS uuid, n.name AS name, n._state AS state, n._leaseOwner AS owner,
    n._leaseUntil AS leaseUntil
ORDER BY leaseUntil, label, uuid
