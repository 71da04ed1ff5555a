// Nodes with a lease, or a time before which they must not be claimed, that is further away than graphmill ever sets it.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition)
WHERE n.projectId = $project AND n.uuid > $after
  AND ((list_contains($working, n._state) AND n._leaseUntil > CAST(current_timestamp() AS TIMESTAMP) + to_seconds($longest))
    OR n._notBefore > CAST(current_timestamp() AS TIMESTAMP) + to_seconds($longest))
RETURN n.uuid AS uuid, label(n) AS label, n._state AS found
ORDER BY uuid LIMIT $limit
