// How many nodes each owner of leases has in hand.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition:Adopted)
WHERE n.projectId = $project AND n._state IN ['parsing', 'linking', 'embedding'] AND n._leaseOwner IS NOT NULL
RETURN n._leaseOwner AS owner, count(*) AS count
