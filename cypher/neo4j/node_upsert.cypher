// Everything is set inside the merge: a SET after it costs a pass over all rows each.
UNWIND $rows AS row
MERGE (n:%label% {uuid: row.uuid})
ON CREATE SET n.projectId = $project, n += row.new, n += row.always,
    n._detectedAt = datetime.transaction(), n._stateChangedAt = datetime.transaction()
ON MATCH SET n += row.always
RETURN count(CASE WHEN n.projectId = $project THEN 1 END) AS written
