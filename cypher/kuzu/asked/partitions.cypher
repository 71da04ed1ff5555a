// The partitions of a run, in the order in which they were planned.
MATCH (r:IngestionRun)-[h:HAS_PARTITION]->(p:Partition)
WHERE r.uuid = $run AND r.projectId = $project
RETURN p.uuid AS uuid, p.kind AS kind, p.key AS key, p.plan AS plan, p.nextOffset AS nextOffset, p._state AS state,
  p._errorMessage AS reason, p._leaseOwner AS holder
ORDER BY h.`index`, key
