// The processes that work on the graph or did in the last day, when each was last heard of, and how many nodes it has in hand.
MATCH (w:Worker)
WHERE w.projectId = $project
OPTIONAL MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition)
WHERE n._leaseOwner = w.name
RETURN w.host AS host, w.process AS process, w.version AS version, w.stages AS stages, w.heartbeat AS heartbeat,
    count(n.uuid) AS holds, w._errorMessage AS ended
ORDER BY heartbeat DESC, host, process
