// Everything is set inside the merge: a SET after it costs a pass over all rows each.
// The clock of a transaction stands still, so what was detected at this moment is what it made itself.
UNWIND $rows AS row
MERGE (n:%label% {uuid: row.uuid})
ON CREATE SET n.projectId = $project, n += row.new, n += row.always,
    n._detectedAt = datetime.transaction(), n._stateChangedAt = datetime.transaction()
ON MATCH SET n += row.always
WITH n, datetime.transaction() AS now
RETURN count(CASE WHEN n.projectId = $project THEN 1 END) AS written,
    collect(CASE WHEN n._detectedAt = now THEN n.uuid END) AS created,
    max(now.epochSeconds * 1000000 + now.microsecond) AS at
