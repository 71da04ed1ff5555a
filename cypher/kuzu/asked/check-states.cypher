// Nodes in no state, or in one that is none of $states.
// One without a depth is not graphmill's: it may be part of an older graph that was not migrated yet.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition:Worker:Adopted)
WHERE n.projectId = $project AND n.uuid > $after AND n._depth IS NOT NULL AND (n._state IS NULL OR NOT list_contains($states, n._state))
RETURN n.uuid AS uuid, label(n) AS label, coalesce(n._state, 'no state') AS found
ORDER BY uuid LIMIT $limit
