// The processes that work on the project or did lately, when each was last heard of, and what the store's clock says now.
MATCH (w:Worker)
WHERE w.projectId = $project
RETURN w.uuid AS uuid, w.name AS name, w.host AS host, w.process AS process, w.version AS version, w.stages AS stages,
    w._state AS state, w.heartbeat AS heartbeat, w._stateChangedAt AS changedAt, w._errorMessage AS reason,
    CAST(current_timestamp() AS TIMESTAMP) AS now
ORDER BY host, process, name
