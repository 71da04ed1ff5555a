// How many nodes each owner of leases has in hand. The predicates on depth and time are there for the claim index.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Adopted)
WHERE n.projectId = $project AND n._state IN ['parsing', 'linking', 'embedding'] AND n._leaseOwner IS NOT NULL
  AND n._depth >= -2147483648 AND n._detectedAt IS NOT NULL
RETURN n._leaseOwner AS owner, count(*) AS count
