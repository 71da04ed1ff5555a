// Nodes whose worker has not been heard of: the lease has run out, or there is none. The longest overdue first.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki)
WHERE n.projectId = $project AND n._state IN ['parsing', 'linking', 'embedding']
  AND (n._leaseUntil IS NULL OR n._leaseUntil < datetime())
RETURN head(labels(n)) AS label, n.uuid AS uuid, n.name AS name, n._state AS state, n._leaseOwner AS owner,
    n._leaseUntil AS leaseUntil
ORDER BY leaseUntil, label, uuid
