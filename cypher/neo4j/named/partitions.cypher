// The parts of runs that have not ended: how far each is read, by whom, and what went wrong.
MATCH (r:IngestionRun)-[h:HAS_PARTITION]->(p:Partition)
WHERE r.projectId = $project AND r.outcome IN ['running', 'consolidating']
RETURN r.uuid AS run, r.source AS source, p.kind AS kind, p.key AS partition, p.outcome AS outcome,
    p.nextOffset AS nextOffset, p._leaseOwner AS worker, p._errorMessage AS reason
ORDER BY source, run, h.index
